import { expect, test } from 'vitest'
import { explainedHunks } from './explained-hunks.ts'

const hunk = (line: number, extra = '') => `@@ -${line},2 +${line},2 @@${extra}\n same\n-old\n+new\n`
const DIFF = [
  `diff --git a/src/cart.js b/src/cart.js\n--- a/src/cart.js\n+++ b/src/cart.js\n${hunk(10)}${hunk(40)}`,
  `diff --git a/src/new.js b/src/new.js\nnew file mode 100644\n--- /dev/null\n+++ b/src/new.js\n@@ -0,0 +1,1 @@\n+x\n`,
].join('')
const FILES = [{ path: 'src/cart.js' }, { path: 'src/new.js' }]

const file = (location: string, from_line: number | null, to_line = from_line) => ({
  kind: 'file',
  location,
  from_line,
  to_line,
  text: 'src/cart.js:41',
})
const log = (text: string | null) => ({ kind: 'log', location: null, from_line: null, to_line: null, text })

test.each([
  ['lines of the file', file('src/cart.js', 10, 12), 10],
  ['lines that reach both, by most of them', file('src/cart.js', 11, 60), 40],
  ['a frame of a stack trace', log('TypeError\n    at total (/app/src/cart.js:11:5)'), 10],
  ['the name of the file alone', log('cart.js:41'), 40],
  ['a frame of Python', log('File "src/cart.js", line 41, in total'), 40],
  ['the first of several that fits', log('at node:events:12 at src/cart.js:99 at src/cart.js:40'), 40],
])('%s: beside its hunk', (_what, one, line) => {
  expect(explainedHunks(DIFF, FILES, [one])[0]).toMatchObject({
    path: 'src/cart.js',
    hunk: { old: { from: line } },
  })
})

test.each([
  ['lines elsewhere in the file', file('src/cart.js', 20, 30)],
  ['lines of another file', file('src/other.js', 10)],
  ['a whole file', file('src/cart.js', null)],
  ['a file that is new', file('src/new.js', 1)],
  ['a file whose name only ends so', log('mycart.js:11')],
  ['a text without places', log('It is slow at 11:40')],
  ['what is not kept', log(null)],
  ['what may not be read', undefined],
])('%s: with the further evidence', (_what, one) => {
  expect(explainedHunks(DIFF, FILES, [one])).toEqual([undefined])
})

test('a long text is read to its end', () => {
  expect(explainedHunks(DIFF, FILES, [log(`${'a/'.repeat(50_000)} cart.js:11`)])[0]).toBeDefined()
})
