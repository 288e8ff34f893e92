import { describe, expect, test } from 'vitest'
import type { EvidenceRead } from '../../contracts/agent-tools.ts'
import { fingerprintOf, isSameMatter, isStillIn, matterOf } from './matter.ts'

const read = (kind: EvidenceRead['kind'], location: string, text: string): EvidenceRead => ({
  ref: `${kind}:${location}`,
  kind,
  location,
  fromLine: null,
  toLine: null,
  text,
})
const LINES = 'const total = items\n  .map((item) => item.price)'
const matter = matterOf([read('file', 'src/a.js', LINES), read('log', 'lgl_1', 'order 42 failed in 7 ms')])

const [file] = matter.files

test('a matter is the files and the first log line that are cited, in whatever order', () => {
  expect(matter).toEqual({
    files: [{ path: 'src/a.js', lines: LINES }],
    logTemplate: 'order <n> failed in <n> ms',
    subject: null,
  })
  const two = [read('file', 'b.js', 'the line of b'), read('file', 'a.js', 'the line of a')]
  expect(matterOf(two)).toEqual(matterOf(two.toReversed()))
})

test('checks and deployments are known by the check and the revision, not by one run of them', () => {
  const check = (id: string, run: string) => matterOf([read('check', run, JSON.stringify({ check_id: id }))])
  const first = check('chk_1', 'chr_1')
  expect(fingerprintOf('app_1', check('chk_1', 'chr_2'))).toBe(fingerprintOf('app_1', first))
  expect(isSameMatter(first, check('chk_1', 'chr_2'))).toBe(true)
  expect(fingerprintOf('app_1', check('chk_2', 'chr_3'))).not.toBe(fingerprintOf('app_1', first))
  expect(isSameMatter(first, check('chk_2', 'chr_3'))).toBe(false)
  expect(isSameMatter(first, matter)).toBe(false)
  const deployed = matterOf([read('deployment', 'dep_1', JSON.stringify({ revision_id: 'rev_1' }))])
  expect(deployed.subject).toBe('deployment rev_1')
  expect(matterOf([read('check', 'chr_1', 'no JSON')]).subject).toBe('check chr_1')
})

test('another file cited before it does not make another matter', () => {
  const quiet = matterOf([read('file', 'src/a.js', LINES)])
  const more = matterOf([read('file', 'src/Z.js', 'something else'), read('file', 'src/a.js', LINES)])
  expect(isSameMatter(quiet, more)).toBe(true)
})

test('what two problems have in common does not make them one', () => {
  const common = read('file', 'src/common.js', 'export const settings = {}')
  const one = matterOf([read('file', 'src/a.js', LINES), common])
  const other = matterOf([read('file', 'src/b.js', 'return something else'), common])
  expect(isSameMatter(one, other)).toBe(false)
})

test('two places in the same lines are two matters, unless the log says that it is one', () => {
  const at = (line: string) => ({
    ...matterOf([read('file', 'src/a.js', LINES)]),
    place: { path: 'src/a.js', line },
  })
  const [first, second] = [at('const total = items'), at('  .map((item) => item.price)')]
  expect(isSameMatter(first, second)).toBe(false)
  expect(fingerprintOf('app_1', first)).not.toBe(fingerprintOf('app_1', second))
  expect(isSameMatter(first, at('    const total  = items'))).toBe(true)
  expect(fingerprintOf('app_1', first)).toBe(fingerprintOf('app_1', at('    const total  = items')))
  // Somebody who names no place may mean either.
  expect(isSameMatter(first, matterOf([read('file', 'src/a.js', LINES)]))).toBe(true)
  const { logTemplate } = matter
  expect(isSameMatter({ ...first, logTemplate }, { ...second, logTemplate })).toBe(true)
  // One place and one error are one matter; with another error it is another.
  const [one, other] = [
    { ...first, logTemplate: 'a' },
    { ...first, logTemplate: 'b' },
  ]
  expect(isSameMatter({ ...one, error: 'TypeError' }, { ...other, error: 'TypeError' })).toBe(true)
  expect(isSameMatter({ ...one, error: 'TypeError' }, { ...other, error: 'RangeError' })).toBe(false)
})

test('the fingerprint is the same whatever the numbers in the log and the indentation', () => {
  const again = matterOf([
    read('log', 'lgl_2', 'order 43 failed in 9 ms'),
    read('file', 'src/a.js', LINES.replaceAll('  ', '\t\t')),
  ])
  expect(fingerprintOf('app_1', again)).toBe(fingerprintOf('app_1', matter))
  expect(fingerprintOf('app_1', matter)).toMatch(/^fp_[0-9a-f]{16}$/)
})

test.each([
  ['app', 'app_2', matter],
  ['path', 'app_1', { ...matter, files: [{ path: 'src/b.js', lines: LINES }] }],
  ['source', 'app_1', { ...matter, files: [{ path: 'src/a.js', lines: 'const total = 0' }] }],
  ['log', 'app_1', { ...matter, logTemplate: 'other' }],
])('another %s is another fingerprint', (_what, appId, other) => {
  expect(fingerprintOf(appId, other)).not.toBe(fingerprintOf('app_1', matter))
})

test('lines that were cut differently are the same matter', () => {
  const withLines = (lines: string) => ({ ...matter, files: [{ path: 'src/a.js', lines }] })
  const wider = withLines(`// sums up\n${LINES}\n}`)
  expect(isSameMatter(matter, wider)).toBe(true)
  const quiet = { ...matter, logTemplate: null }
  expect(isSameMatter(quiet, { ...wider, logTemplate: null })).toBe(true)
  expect(isSameMatter(quiet, { ...withLines('return somethingElse()'), logTemplate: null })).toBe(false)
  const bracket = { ...withLines('}\n'), logTemplate: null }
  expect(isSameMatter(bracket, bracket)).toBe(false)
})

test('another log group is another matter, and so is another file', () => {
  expect(isSameMatter(matter, { ...matter, logTemplate: 'other' })).toBe(false)
  expect(isSameMatter(matter, { ...matter, files: [{ path: 'src/b.js', lines: LINES }] })).toBe(false)
  expect(isSameMatter(matter, { ...matter, files: [] })).toBe(true)
})

test('lines are still there when they have moved, and not when they have changed', () => {
  expect(isStillIn(`// moved\n\n${LINES}\n`, file!.lines)).toBe(true)
  expect(isStillIn(LINES.replace('price', 'cost'), file!.lines)).toBe(false)
})

describe('place and error', () => {
  const log = (text: string): EvidenceRead => ({
    ref: 'log:lgl_1',
    kind: 'log',
    location: 'lgl_1',
    fromLine: null,
    toLine: null,
    text,
  })
  const trace = (error: string) =>
    `Traceback (most recent call last):\n  File "/app/desk.py", line 4, in owner_of\n    return OWNERS[queue]\n${error}`
  const place = { path: 'desk.py', line: '    return OWNERS[queue]' }
  const source = (text: string): EvidenceRead => ({
    ref: 'file:desk.py#L3-L5',
    kind: 'file',
    location: 'desk.py',
    fromLine: 3,
    toLine: 5,
    text,
  })
  const analyst = { ...matterOf([log(trace("KeyError: 'returns'")), source(place.line)]), place }

  test('are one matter with one fingerprint, whatever lines tell of it and are cited', () => {
    const cited = [log("ticket 17 failed: KeyError: 'lost'"), source(`def owner_of(queue):\n${place.line}`)]
    const model = { ...matterOf(cited), place }
    expect(model.logTemplate).not.toBe(analyst.logTemplate)
    expect(isSameMatter(analyst, model)).toBe(true)
    expect(fingerprintOf('app_1', model)).toBe(fingerprintOf('app_1', analyst))
    expect(fingerprintOf('app_2', model)).not.toBe(fingerprintOf('app_1', analyst))
  })

  test('tell two exceptions apart whose records begin with the same line', () => {
    const other = {
      ...matterOf([log(trace('ValueError: no')), source('    return int(queue)')]),
      place: { path: 'desk.py', line: '    return int(queue)' },
    }
    expect(isSameMatter(analyst, other)).toBe(false)
    expect(fingerprintOf('app_1', other)).not.toBe(fingerprintOf('app_1', analyst))
  })
})
