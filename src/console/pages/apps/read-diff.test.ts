import { expect, test } from 'vitest'
import { readDiffLines, splitDiff } from './read-diff.ts'
import { folderEntries } from './source-folder.ts'
import { sourcePath } from './source-paths.ts'

test('a diff is split where files begin, and nowhere else', () => {
  const diff =
    'diff --git a/a b/a\n@@ -1 +1 @@\n-diff --git a/b b/b\n+x\ndiff --git a/b b/b\nnew file mode 100755\n'
  expect(splitDiff(diff)).toHaveLength(2)
  expect(readDiffLines(splitDiff(diff)[0]!).map(({ kind, old, now }) => [kind, old, now])).toEqual([
    ['place', null, null],
    ['removed', 1, null],
    ['added', null, 1],
  ])
})

test.each(['\r', '\u2028', '\u2029', '\v', '\f', '\u0085'])(
  'no character in a line of a file begins another file: %j',
  (character) => {
    const first = `diff --git a/a b/a\n@@ -1 +1 @@\n-x\n+y${character}diff --git a/b b/b\n`
    const second = 'diff --git a/b b/b\n@@ -1 +1 @@\n-1\n+2\n'
    expect(splitDiff(first + second)).toEqual([first, second])
    expect(readDiffLines(first).map(({ kind }) => kind)).toEqual(['place', 'removed', 'added'])
  },
)

test('a folder is what begins with its name and a slash', () => {
  const file = (path: string) => ({ path, bytes: 1, executable: false, sha256: '' })
  expect(folderEntries([file('a/b/c'), file('a/d'), file('ab/e')], 'a').map(({ name }) => name)).toEqual([
    'b',
    'd',
  ])
  expect(folderEntries([file('a/b')], 'b')).toEqual([])
})

test('a link to a line leads to the part of the file that has it', () => {
  const link = sourcePath('shop', { path: 'src/orders.js', line: 4_321 })
  expect(link.endsWith('&from=4001#L4321')).toBe(true)
})
