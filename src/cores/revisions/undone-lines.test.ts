import { describe, expect, test } from 'vitest'
import { changedLines, isTakenAway, isThere, losesChanges, readLines, sharedLines } from './undone-lines.ts'

const linesOf = (text: string) => readLines(text)!

const BEFORE = ['function sum(items) {', '  return items.price', '}', ''].join('\n')
const AFTER = ['function sum(items) {', '  return items?.price ?? 0', '}', ''].join('\n')
const PART = `diff --git a/sum.js b/sum.js
--- a/sum.js
+++ b/sum.js
@@ -1,3 +1,3 @@
 function sum(items) {
-  return items.price
+  return items?.price ?? 0
 }
`
const GUARD = `diff --git a/sum.js b/sum.js
--- a/sum.js
+++ b/sum.js
@@ -1,2 +1,3 @@
 function sum(items) {
+  if (!items) return 0
   return items.price
`

const undone = (part: string, head: string, pushed: string) =>
  changedLines(part).some((block) => isTakenAway(block, { head: linesOf(head), pushed: linesOf(pushed) }))

describe('a push', () => {
  test.each([
    ['that has the old line again undoes it', `// new header\n${BEFORE}// new footer\n`, true],
    [
      'that has the old line again, indented otherwise, undoes it',
      BEFORE.replace('  return', '\treturn'),
      true,
    ],
    ['that has neither line undoes it', 'function sum(items) {\n  return total(items)\n}\n', true],
    ['that changes other lines keeps it', `// new header\n${AFTER}export const more = 1\n`, false],
    ['that moves it keeps it', `const other = 1\n\n${AFTER}`, false],
    ['that removes the file undoes it', '', true],
  ])('%s', (_name, pushed, expected) => {
    expect(undone(PART, AFTER, pushed)).toBe(expected)
  })

  test('without a line that was only added undoes it, with the line elsewhere it does not', () => {
    const head = BEFORE.replace('{\n', '{\n  if (!items) return 0\n')
    expect(undone(GUARD, head, BEFORE)).toBe(true)
    expect(undone(GUARD, head, head.replace('items.price', 'items.amount'))).toBe(false)
  })

  test('without any of several lines that were added undoes it, with one of them it does not', () => {
    const added = ['  if (!items) return 0', '  log(items)']
    const part = GUARD.replace(`+${added[0]}\n`, added.map((line) => `+${line}\n`).join(''))
    const head = BEFORE.replace('{\n', `{\n${added.join('\n')}\n`)
    const other = head.replace('items.price', 'items.amount')
    for (const line of added) expect(undone(part, head, other.replace(`${line}\n`, ''))).toBe(false)
    expect(undone(part, head, other.replace(`${added.join('\n')}\n`, ''))).toBe(true)
  })

  test('with a line that was only removed undoes it, wherever it stands', () => {
    const part = 'diff --git a/x b/x\n@@ -1,3 +1,2 @@\n a()\n-debug(secret)\n b()\n'
    expect(undone(part, 'a()\nb()\n', 'b()\na()\n  debug(secret)\n')).toBe(true)
    expect(undone(part, 'a()\nb()\n', 'b()\na()\n')).toBe(false)
  })

  test('that takes one of several equal lines away undoes the change that added it', () => {
    const head = 'if (!items) return 0\nwork()\nif (!items) return 0\n'
    expect(undone(GUARD, head, 'work()\nif (!items) return 0\n')).toBe(true)
  })

  test('says nothing of what the head does not have', () => {
    expect(undone(PART, BEFORE, `${BEFORE}more()\n`)).toBe(false)
  })
})

test('what was only indented is told by its place', () => {
  const [before, after] = ['for (;;) {\n  a()\n  b()\n}\n', 'for (;;) {\n  a()\n}\nb()\n']
  const part = 'diff --git a/x b/x\n@@ -1,4 +1,4 @@\n for (;;) {\n   a()\n-  b()\n }\n+b()\n'
  expect(undone(part, after, `// more\n${before}`)).toBe(true)
  expect(undone(part, after, `// more\n${after}`)).toBe(false)
  const [moved] = changedLines(part)
  expect([isThere(moved!, linesOf(after)), undone(part, before, before)]).toEqual([true, false])
})

test('what was only moved is told by its order', () => {
  const [before, after] = ['read()\nlock()\n', 'lock()\nread()\n']
  const part = 'diff --git a/x b/x\n@@ -1,2 +1,2 @@\n+lock()\n read()\n-lock()\n'
  expect(undone(part, after, `${before}more()\n`)).toBe(true)
  expect(undone(part, after, `${after}more()\n`)).toBe(false)
})

test('a line that stands elsewhere, too, does not hide that the others are gone', () => {
  const head = 'if (!items) return 0\nreturn null\n'
  const part = 'diff --git a/x b/x\n@@ -1,0 +1,2 @@\n+if (!items) return 0\n+return null\n'
  expect(undone(part, `${head}other()\nreturn null\n`, 'other()\nreturn null\nnew()\nreturn null\n')).toBe(
    true,
  )
})

test('a change is there again when all that it added is, or nothing of what it removed', () => {
  const [replaced] = changedLines(PART)
  expect([isThere(replaced!, linesOf(AFTER)), isThere(replaced!, linesOf(BEFORE))]).toEqual([true, false])
  const [removal] = changedLines(PART.replace('+  return items?.price ?? 0\n', ''))
  expect([isThere(removal!, linesOf('x()')), isThere(removal!, linesOf(BEFORE))]).toEqual([true, false])
})

test('what others pushed is lost with any of its lines, and not by changes beside them', () => {
  const loses = (base: string, head: string, pushed: string) =>
    losesChanges(linesOf(base), linesOf(head), linesOf(pushed))
  expect(loses('a\nb', 'a\nb\nc', 'a\nb\nd')).toBe(true)
  expect(loses('a\nb', 'a\nb\nc', 'a\nb\nc\nd')).toBe(false)
  expect(loses('a\nb', 'a', 'a\nb')).toBe(true)
  expect(loses('a\nb', 'a', 'a\nd')).toBe(false)
  // Only their order was changed.
  expect(loses('a\nb', 'b\na', 'a\nb\nc')).toBe(true)
})

test('of a renamed file so many of its different lines are in the other, wherever they stand', () => {
  const share = (text: string, other: string) => sharedLines(linesOf(text), linesOf(other))
  expect(share('a\nb\nc\nd\n', 'd\nx\na\n')).toBe(0.5)
  expect(share('a\na\na\nb', 'a')).toBe(0.5)
  expect(share('a', 'a\nb\nc')).toBe(1)
  expect(share('a', 'b')).toBe(0)
  expect(share('', 'a')).toBe(0)
})
