import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, inject, onTestFinished, test, vi } from 'vitest'
import { compareTexts } from '../../adapters/source-thread/compare-texts.ts'
import { DIFF_FILES_MAX, DIFF_MAX_BYTES } from '../../contracts/limits.ts'
import { diffTrees, type TreeFile } from './diff-trees.ts'

type Tree = Record<string, string | { text: string; isExecutable: boolean }>

const contents = new Map<string, Buffer>()
const treeOf = (tree: Tree): TreeFile[] =>
  Object.entries(tree).map(([path, file]) => {
    const { text, isExecutable } = typeof file === 'string' ? { text: file, isExecutable: false } : file
    const content = Buffer.from(text, 'latin1')
    const sha256 = createHash('sha256').update(content).digest('hex')
    contents.set(sha256, content)
    return { path, sha256, isExecutable }
  })
const compare = (base: Tree, head: Tree) =>
  diffTrees(treeOf(base), treeOf(head), {
    read: async ({ sha256 }) => contents.get(sha256)!,
    compare: async (texts) => compareTexts(texts),
    clock: () => new Date(0),
  })

/** What git makes of the base with our diff. */
function applied(base: Tree, diff: string): Tree {
  const folder = mkdtempSync(join(tmpdir(), 'svc-diff-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  for (const { path, sha256, isExecutable } of treeOf(base)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), contents.get(sha256)!)
    if (isExecutable) chmodSync(join(folder, path), 0o755)
  }
  execFileSync('git', ['apply', '--whitespace=nowarn', '-'], { cwd: folder, input: diff, stdio: 'pipe' })
  const paths = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
  return Object.fromEntries(
    paths.map((path) => [
      path.slice(folder.length + 1),
      { text: readFileSync(path, 'latin1'), isExecutable: (statSync(path).mode & 0o100) !== 0 },
    ]),
  )
}

const plain = (tree: Tree): Tree =>
  Object.fromEntries(
    Object.entries(tree).map(([path, file]) => [
      path,
      typeof file === 'string' ? { text: file, isExecutable: false } : file,
    ]),
  )

const BASE: Tree = { 'a.txt': 'one\ntwo\nthree\n', 'src/b.js': 'let x = 1\n' }

test.each<[string, Tree, Tree]>([
  ['a changed line', BASE, { ...BASE, 'a.txt': 'one\n2\nthree\n' }],
  ['a new file', BASE, { ...BASE, 'src/new.js': 'x\n' }],
  ['a removed file', BASE, { 'a.txt': BASE['a.txt']! }],
  ['an empty file', BASE, { ...BASE, empty: '' }],
  ['an empty file that goes', { ...BASE, empty: '' }, BASE],
  ['no line break at the end', BASE, { ...BASE, 'a.txt': 'one\ntwo' }],
  ['line breaks of Windows', { a: 'x\r\ny\r\n' }, { a: 'x\r\nz\r\n' }],
  ['a mode', BASE, { ...BASE, 'a.txt': { text: 'one\ntwo\nthree\n', isExecutable: true } }],
  ['a new executable', BASE, { ...BASE, run: { text: '#!/bin/sh\n', isExecutable: true } }],
  ['blanks and quotes in a name', { 'a "b" c': '1\n' }, { 'a "b" c': '2\n' }],
  ['a name beyond ASCII', { 'größe/é': '1\n' }, { 'größe/é': '2\n' }],
  ['lines that look like a header', { a: '-- x\n++ y\n' }, { a: '-- x\n++ z\n--- w\n' }],
])('%s is read by git apply', async (_what, base, head) => {
  const { diff, omitted } = await compare(base, head)
  expect(omitted).toBe(0)
  expect(applied(base, diff)).toEqual(plain(head))
})

test('says what changed and how much, in order of the paths', async () => {
  const head = { 'src/b.js': 'let x = 2\nlet y\n', z: '1\n' }
  expect((await compare(BASE, head)).files).toEqual([
    { path: 'a.txt', change: 'removed', addedLines: 0, removedLines: 3 },
    { path: 'src/b.js', change: 'changed', addedLines: 2, removedLines: 1 },
    { path: 'z', change: 'added', addedLines: 1, removedLines: 0 },
  ])
})

test('nothing changed is nothing', async () => {
  expect(await compare(BASE, BASE)).toEqual({ diff: '', files: [], omitted: 0 })
})

test('what is not text is named and not shown', async () => {
  const { diff, omitted, files } = await compare(
    { logo: '\x89PNG\0\x01' },
    { logo: '\x89PNG\0\x02', b: '\xff\xfe' },
  )
  expect(omitted).toBe(2)
  expect(files.map(({ change }) => change)).toEqual(['added', 'changed'])
  expect(diff).not.toContain('PNG')
  expect(diff).toContain('Binary files /dev/null and b/b differ\n')
})

test.each<[string, Tree, Tree]>([
  ['added', BASE, { ...BASE, logo: '\0 1' }],
  ['changed', { ...BASE, logo: '\0 1' }, { ...BASE, logo: '\0 2' }],
  ['changed with its mode', { logo: '\0 1' }, { logo: { text: '\0 2', isExecutable: true } }],
  ['removed', { ...BASE, logo: '\0 1' }, BASE],
  ['named with quotes', BASE, { ...BASE, 'a "b" c': '\0 1' }],
])('of a patch without a file that was %s git applies nothing', async (_what, base, head) => {
  const { diff, omitted } = await compare(base, { ...head, 'a.txt': 'another change\n' })
  expect(omitted).toBe(1)
  expect(() => applied(base, diff)).toThrow('cannot apply binary patch')
})

const numbered = (seed: number, count: number) =>
  Array.from({ length: count }, (_, i) => `${((i + 1) * seed) % 99_991} ${i}\n`).join('')

test.runIf(inject('everyCase'))(
  'files that share nothing are shown as replaced, and git applies it',
  async () => {
    const [base, head] = [
      { big: `first\n${numbered(7, 5_000)}last` },
      { big: `first\n${numbered(13, 4_000)}last` },
    ]
    // It looks at the time once, and then before each edit more that it tries: 2,000, because the work grows with their square.
    const looks = vi.spyOn(Date, 'now').mockReturnValue(0)
    onTestFinished(() => looks.mockRestore())
    const { diff, files, omitted } = await compare(base, head)
    expect(looks).toHaveBeenCalledTimes(2_001)
    expect(omitted).toBe(0)
    expect(files).toEqual([{ path: 'big', change: 'changed', addedLines: 4_000, removedLines: 5_000 }])
    expect(applied(base, diff)).toEqual(plain(head))
  },
)

test('one line among 100,000 is found', async () => {
  const text = numbered(7, 100_000)
  const { files, diff } = await compare({ big: text }, { big: text.replace('\n', ' changed\n') })
  expect(files).toEqual([{ path: 'big', change: 'changed', addedLines: 1, removedLines: 1 }])
  expect(diff.length).toBeLessThan(500)
})

test('a comparison has an end: what is beyond it is named', async () => {
  const head = { a: numbered(7, 90_000), b: 'small\n' }
  const { omitted, diff, files } = await compare({}, head)
  expect([omitted, files.length]).toEqual([1, 2])
  expect(diff).toContain('+small')
})

test('names take room too, and of the files so many are named', async () => {
  const long = Array.from({ length: 3 }, () => 'x'.repeat(250)).join('/')
  const tree = (folder: string) =>
    Object.fromEntries(Array.from({ length: 2_000 }, (_, i) => [`${folder}/${long}/${i}`, '\0']))
  const { omitted, diff, files } = await compare(tree('a'), tree('b'))
  expect(Buffer.byteLength(diff)).toBeLessThanOrEqual(DIFF_MAX_BYTES)
  expect([files.length, omitted]).toEqual([DIFF_FILES_MAX, 4_000])
  // Those of the diff are the first of the files, so each part is that of the file at its place.
  const named = [...diff.matchAll(/^diff --git a\/(\S+) /gm)].map((match) => match[1])
  expect(named).toEqual(files.slice(0, named.length).map(({ path }) => path))
  expect(named.length).toBeLessThan(files.length)
})

test('nothing is shown behind a file whose name had no place', async () => {
  const head = { a: 'x'.repeat(DIFF_MAX_BYTES - 300), ['b'.repeat(200)]: '\0', c: '' }
  const { diff, files, omitted } = await compare({}, head)
  expect([files.length, omitted]).toEqual([3, 2])
  expect(diff).not.toContain('b/c')
})

/** Each comparison takes so long; each look at the clock, which is what waiting for others would do, so long. */
const timed = async (files: number, { work = 0, waiting = 0 }) => {
  let ms = 0
  const tree = Object.fromEntries(Array.from({ length: files }, (_, i) => [`f${i + 10}`, `${i}\n`]))
  const found = await diffTrees([], treeOf(tree), {
    read: async ({ sha256 }) => contents.get(sha256)!,
    compare: async (texts, isLate) => (isLate() ? undefined : { ...compareTexts(texts), ms: work }),
    clock: () => new Date((ms += waiting)),
  })
  return files - found.omitted
}

test('and so has the time it may take: what comes after is named', async () => {
  expect(await timed(20, { work: 0, waiting: 0 })).toBe(20)
  expect(await timed(20, { waiting: 4_000 })).toBeLessThan(4)
  expect(await timed(20, { work: 4_000 })).toBeLessThan(9)
})

test('waiting for others does not count as its own time', async () => {
  // Twelve seconds of waiting are more than the comparing itself may take.
  expect(await timed(20, { work: 100, waiting: 500 })).toBe(20)
})
