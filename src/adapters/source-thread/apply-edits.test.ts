import { expect, test } from 'vitest'
import type { TextEdit } from '../../cores/revisions/source-thread.ts'
import { cpuMs } from '../../../test/support/cpu-ms.ts'
import { applyEdits } from './apply-edits.ts'

const FILE = 'one\ntwo\nthree\ntwo and a half\n'
const texts = new Map<string, string | null>([
  ['a.txt', FILE],
  ['logo.png', null],
  ['face.txt', '\u{1f600}\n'],
])
const apply = (...edits: TextEdit[]) => {
  const { files, problems } = applyEdits({ edits, texts })
  return { files: Object.fromEntries(files), problems }
}
const replaced = (old_text: string, new_text: string) => ({ path: 'a.txt', old_text, new_text })

test('what stands there exactly once is replaced, whatever the order of the edits', () => {
  expect(apply(replaced('three', '3'), replaced('one', '1'))).toEqual({
    files: { 'a.txt': '1\ntwo\n3\ntwo and a half\n' },
    problems: [],
  })
})

test('a replacement is text, not a pattern', () => {
  expect(apply(replaced('three', '$& $1 \\n')).files).toEqual({
    'a.txt': 'one\ntwo\n$& $1 \\n\ntwo and a half\n',
  })
})

test('lines that end as on Windows go on to do so', () => {
  const edit = { path: 'w.txt', old_text: 'one\ntwo', new_text: '1\n2' }
  const windows = new Map([['w.txt', 'one\r\ntwo\r\nthree\r\n']])
  expect(applyEdits({ edits: [edit], texts: windows }).files.get('w.txt')).toBe('1\r\n2\r\nthree\r\n')
  // Not where the file has both: which of them is meant nobody can say.
  const mixed = new Map([['w.txt', 'one\r\ntwo\nthree\n']])
  expect(applyEdits({ edits: [edit], texts: mixed }).problems).toHaveLength(1)
})

test('files are created and deleted as a whole', () => {
  const { files, problems } = apply({ path: 'b.txt', create: 'new\n' }, { path: 'a.txt', delete: true })
  expect([files, problems]).toEqual([{ 'b.txt': 'new\n', 'a.txt': null }, []])
})

test.each<[string, TextEdit[], string]>([
  ['is not there', [replaced('four', '4')], 'does not have a text'],
  ['is there twice', [replaced('two', '2')], 'more than once'],
  [
    'overlaps itself',
    [{ path: 'a.txt', old_text: 'ee\ntwo a', new_text: '' }, replaced('three', '3')],
    'the same text',
  ],
  ['is edited twice', [replaced('three', '3'), replaced('three', '4')], 'the same text'],
  ['is in no file', [{ path: 'c.txt', old_text: 'x', new_text: 'y' }], 'is not there'],
  ['is in a file that is no text', [{ path: 'logo.png', old_text: 'x', new_text: 'y' }], 'is not text'],
  ['makes what is no text', [replaced('three', '\0')], 'would not be text'],
  ['makes half a character', [replaced('three', '\ud800')], 'would not be text'],
  [
    'is half a character',
    [{ path: 'face.txt', old_text: '\ude00', new_text: '\ude01' }],
    'would not be text',
  ],
  ['makes a file too large', [replaced('three', 'x'.repeat(1024 * 1024))], 'larger than 1 MiB'],
  ['creates what is there', [{ path: 'a.txt', create: 'x' }], 'is there already'],
  ['deletes what is not there', [{ path: 'c.txt', delete: true }], 'is not there'],
  ['deletes what cannot be shown', [{ path: 'logo.png', delete: true }], 'is not text'],
  ['edits what it deletes', [{ path: 'a.txt', delete: true }, replaced('one', '1')], 'edited as well'],
])('an edit that %s is refused', (_what, edits, problem) => {
  const { files, problems } = apply(...edits)
  expect(files).toEqual({})
  expect(problems).toHaveLength(1)
  expect(problems[0]).toContain(problem)
})

test('a problem shows a hostile path as JSON writes it', () => {
  expect(apply({ path: 'a\u202eb', old_text: 'x', new_text: 'y' }).problems).toEqual([
    '"a\\u{202e}b": is not there',
  ])
})

test('a text that almost repeats itself takes no longer than its length', () => {
  const text = 'a'.repeat(1024 * 1024 - 1)
  const old_text = `b${'a'.repeat(60_000)}`
  const spentMs = cpuMs(() => {
    const { problems } = applyEdits({
      edits: Array.from({ length: 10 }, () => ({ path: 'long.txt', old_text, new_text: '' })),
      texts: new Map([['long.txt', text]]),
    })
    expect(problems).toEqual(['"long.txt": does not have a text that is to be replaced'])
  })
  expect(spentMs).toBeLessThan(3_000)
})

test('what overlaps itself is there twice', () => {
  const edit = { path: 'w.txt', old_text: 'abab', new_text: '' }
  expect(applyEdits({ edits: [edit], texts: new Map([['w.txt', 'xababab']]) }).problems[0]).toContain(
    'more than once',
  )
  expect(applyEdits({ edits: [edit], texts: new Map([['w.txt', 'aabababx'.slice(0, 5)]]) }).problems).toEqual(
    [],
  )
})
