import { expect, test } from 'vitest'
import { readDiffLines } from './read-diff.ts'
import { wordMarks } from './word-marks.ts'

/** Marked words in brackets, per line. */
function marked(...lines: string[]): string[] {
  const read = readDiffLines(['@@ -1,9 +1,9 @@', ...lines].join('\n')).slice(1)
  const marks = wordMarks(read)
  return read.map(
    (line) =>
      marks
        .get(line)
        ?.map(({ text, isMarked }) => (isMarked ? `[${text}]` : text))
        .join('') ?? line.text,
  )
}

test('the words that changed are marked, on both sides', () => {
  expect(marked('-const total = cost + tax', '+const total = price + tax')).toEqual([
    'const total = [cost] + tax',
    'const total = [price] + tax',
  ])
})

test('the second line removed became the second one added', () => {
  expect(marked('-let a = 1', '-let b = 2', '+let a = 10', '+let b = 20')).toEqual([
    'let a = [1]',
    'let b = [2]',
    'let a = [10]',
    'let b = [20]',
  ])
})

test('lines with little in common are not compared', () => {
  expect(marked('-return total', '+throw new Error("no items at all")')).toEqual([
    'return total',
    'throw new Error("no items at all")',
  ])
})

test('a block ends where a line stayed the same', () => {
  expect(marked('-let a = 1', ' same', '+let a = 2')).toEqual(['let a = 1', 'same', 'let a = 2'])
})

test('what was not written by people is left as it is', () => {
  const long = 'x '.repeat(2_000)
  expect(marked(`-${long}`, `+${long}y`)).toEqual([long, `${long}y`])
})
