import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { ServiceError } from '../../contracts/errors.ts'
import { mergeTrees, writeChanges, type PulledFile } from './merge-trees.ts'
import { readSourceFolder } from './read-folder.ts'

let folder: string
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'svc-pull-'))))
afterEach(() => rmSync(folder, { recursive: true }))

type Files = Record<string, string | Uint8Array>
const archived = (files: Files) =>
  Object.entries(files).map(([path, content]) => ({
    path,
    content: Buffer.from(content),
    isExecutable: false,
  }))

function pull(base: Files, head: Files, here: Files): PulledFile[] {
  for (const [path, content] of Object.entries(here)) {
    mkdirSync(join(folder, path, '..'), { recursive: true })
    writeFileSync(join(folder, path), content)
  }
  const changes = mergeTrees(archived(base), archived(head), readSourceFolder(folder))
  writeChanges(folder, changes)
  return changes
}
const textOf = (path: string) => readFileSync(join(folder, path), 'utf8')
const changesIn = (changes: readonly PulledFile[]) => changes.map(({ path, change }) => `${change} ${path}`)

const LINES = 'one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n'

test('what changed in the head comes, and what changed here stays', () => {
  const base = { 'a.txt': LINES, 'b.txt': 'b', 'gone.txt': 'x', 'same.txt': 's' }
  const head = { 'a.txt': LINES.replace('two', 'TWO'), 'b.txt': 'B', 'new/c.txt': 'c', 'same.txt': 's' }
  const here = { ...base, 'a.txt': LINES.replace('nine', 'NINE'), 'same.txt': 'mine', 'own.txt': 'o' }
  expect(changesIn(pull(base, head, here))).toEqual([
    'changed a.txt',
    'changed b.txt',
    'removed gone.txt',
    'added new/c.txt',
  ])
  expect(textOf('a.txt')).toBe(LINES.replace('two', 'TWO').replace('nine', 'NINE'))
  expect([textOf('b.txt'), textOf('new/c.txt'), textOf('same.txt'), textOf('own.txt')]).toEqual([
    'B',
    'c',
    'mine',
    'o',
  ])
  expect(statSync(join(folder, 'gone.txt'), { throwIfNoEntry: false })).toBeUndefined()
})

test('what does not fit is named with its hunk, and nothing is changed', () => {
  const base = { 'a.txt': LINES, 'b.txt': 'b\n', 'c.bin': new Uint8Array([0, 1]), 'd.txt': 'd' }
  const head = {
    'a.txt': LINES.replace('two', 'TWO'),
    'b.txt': 'B\n',
    'c.bin': new Uint8Array([0, 2]),
    'e.txt': 'e',
  }
  const here = {
    'a.txt': LINES.replace('two', 'zwei'),
    'b.txt': 'b\n',
    'c.bin': new Uint8Array([0, 3]),
    'd.txt': 'mine',
    'e.txt': 'mine',
  }
  const failure = (() => {
    try {
      pull(base, head, here)
    } catch (error) {
      return error
    }
    return undefined
  })()
  expect(failure).toBeInstanceOf(ServiceError)
  expect((failure as ServiceError).problems).toEqual([
    '"a.txt": @@ -1,6 +1,6 @@ does not apply',
    '"c.bin": is not text, and is changed both here and in the head',
    '"d.txt": was removed in the head, and is changed here',
    '"e.txt": was added in the head, and here with other content',
  ])
  expect([textOf('a.txt'), textOf('b.txt')]).toEqual([LINES.replace('two', 'zwei'), 'b\n'])
})

const refused = (work: () => unknown): readonly string[] | undefined => {
  try {
    work()
  } catch (error) {
    return error instanceof ServiceError ? error.problems : undefined
  }
  return undefined
}

test('nothing is written through a link, nor over what is here and not pushed', () => {
  const outside = mkdtempSync(join(tmpdir(), 'svc-outside-'))
  symlinkSync(outside, join(folder, 'linked'))
  writeFileSync(join(folder, 'local.json'), 'mine')
  const added = (path: string) => ({
    path,
    change: 'added' as const,
    content: Buffer.from('x'),
    isExecutable: false,
  })
  const problems = refused(() =>
    writeChanges(folder, [added('linked/a.txt'), added('local.json'), added('c.txt')]),
  )
  expect(problems).toEqual([
    '"linked/a.txt": lies behind a symbolic link',
    '"local.json": is here already, and is not pushed',
  ])
  expect([textOf('local.json'), readdirSync(outside), readdirSync(folder).toSorted()]).toEqual([
    'mine',
    [],
    ['linked', 'local.json'],
  ])
  rmSync(outside, { recursive: true })
})

test('a file may have the name of a folder that went', () => {
  expect(changesIn(pull({ 'a/b/c.txt': 'c' }, { a: 'file' }, { 'a/b/c.txt': 'c' }))).toEqual([
    'removed a/b/c.txt',
    'added a',
  ])
  expect([textOf('a'), readdirSync(folder)]).toEqual(['file', ['a']])
})

test('a hunk goes where the ones before it have moved it', () => {
  const block = (n: number) => `function f${n}() {\n  same()\n  same()\n  same()\n}\n`
  const [one, two, three] = [block(1), block(2), block(3)]
  const base = `top\n${one}${two}${three}`
  const head = base
    .replace('top', `top\n${'new\n'.repeat(10)}`)
    .replace('function f3() {\n  same()', 'function f3() {\n  guard()\n  same()')
  pull({ 'a.js': base }, { 'a.js': head }, { 'a.js': `${base}mine\n` })
  expect(textOf('a.js')).toBe(`${head}mine\n`)
})
