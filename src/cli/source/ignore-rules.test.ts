/** Compared with git itself: the same files, the same .gitignore, the same answer. */
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import { expect, inject, onTestFinished, test } from 'vitest'
import type { ServiceError } from '../../contracts/errors.ts'
import { cpuMs } from '../../../test/support/cpu-ms.ts'
import { isIgnored, readIgnoreFile } from './ignore-rules.ts'
import { readSourceFolder } from './read-folder.ts'

function folderOf(files: Record<string, string>): string {
  const folder = mkdtempSync(join(tmpdir(), 'svc-push-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  return folder
}

const git = (cwd: string, ...args: string[]) =>
  execFileSync('git', ['-c', 'core.excludesFile=/dev/null', ...args], {
    cwd,
    encoding: 'utf8',
  })
const keptByGit = (folder: string, at = '.') =>
  git(join(folder, at), 'ls-files', '-z', '--others', '--exclude-standard')
    .split('\0')
    .filter((path) => path !== '')
    .toSorted()
const keptByUs = (folder: string) =>
  readSourceFolder(folder)
    .map(({ path }) => path)
    .toSorted()

const FILES = [
  'a.log',
  'build/out.js',
  'build/keep/me.txt',
  'src/a.log',
  'src/build/x',
  'src/deep/build/y',
  'src/deep/er/z.tmp',
  'docs/#notes.md',
  'docs/!really.md',
  'docs/with space ',
  'foo1',
  'foo]',
  'foo-bar',
  'größe.txt',
  'node_modules/left/index.js',
  'vendor/node_modules/x',
]

test.each<[string, Record<string, string>]>([
  ['names anywhere', { '.gitignore': '*.log\nnode_modules/\n' }],
  ['places', { '.gitignore': '/build\nsrc/deep/er\n' }],
  ['a name that is a folder', { '.gitignore': 'build/\n' }],
  ['negation', { '.gitignore': '*.log\n!src/a.log\n' }],
  ['negation in a folder that is ignored does nothing', { '.gitignore': 'build\n!build/keep/me.txt\n' }],
  ['negation in a folder whose contents are ignored', { '.gitignore': 'build/*\n!build/keep/\n' }],
  ['nested files, the inner one wins', { '.gitignore': '*.log\n', 'src/.gitignore': '!a.log\nbuild\n' }],
  ['nested places', { 'src/.gitignore': '/build\ndeep/**/z.tmp\n' }],
  ['two stars before, between and after', { '.gitignore': '**/build\nsrc/**/z.tmp\nvendor/**\n' }],
  [
    'comments, escapes and blanks',
    { '.gitignore': '# no\n\\#notes.md\n\\!really.md\nwith space\\ \nfoo1   \n' },
  ],
  ['brackets', { '.gitignore': 'foo[0-9]\nfoo[]]\nfoo[!a-z]bar\n' }],
  ['classes', { '.gitignore': 'foo[[:digit:]]\n' }],
  ['a bracket that does not end', { '.gitignore': 'foo[\nfoo1\n' }],
  ['question marks', { '.gitignore': 'foo?\n?uild\n' }],
  ['line breaks of Windows', { '.gitignore': '*.log\r\nbuild\r\n' }],
  ['everything but', { '.gitignore': '/*\n!/src\n/src/*\n!/src/deep\n!.gitignore\n' }],
  ['beyond ASCII', { '.gitignore': 'grö?e.txt\n' }],
])('%s are as git has them', (_what, ignoring) => {
  const folder = folderOf({ ...Object.fromEntries(FILES.map((path) => [path, 'x'])), ...ignoring })
  git(folder, 'init', '-q')
  expect(keptByUs(folder)).toEqual(keptByGit(folder))
})

test('any rules of these parts are as git has them', () => {
  const part = fc.constantFrom('a', 'b', '*', '**', '?', '[ab]', '[!a]', 'a*', '*b', 'ab')
  const rule = fc
    .tuple(fc.boolean(), fc.boolean(), fc.array(part, { minLength: 1, maxLength: 3 }), fc.boolean())
    .map(
      ([not, root, parts, end]) => `${not ? '!' : ''}${root ? '/' : ''}${parts.join('/')}${end ? '/' : ''}`,
    )
  const names = ['a', 'b', 'ab', 'ba']
  const paths = names.flatMap((one) => names.flatMap((two) => names.map((three) => `${one}/${two}/${three}`)))
  const folder = folderOf(Object.fromEntries([...paths, 'f', 'g.a'].map((path) => [path, 'x'])))
  git(folder, 'init', '-q')
  fc.assert(
    fc.property(fc.array(rule, { minLength: 1, maxLength: 4 }), (rules) => {
      writeFileSync(join(folder, '.gitignore'), `${rules.join('\n')}\n!/.gitignore\n`)
      expect(keptByUs(folder), rules.join(' ')).toEqual(keptByGit(folder))
    }),
    { numRuns: inject('everyCase') ? 60 : 15 },
  )
})

test('a folder inside a repository obeys the rules above it', () => {
  const folder = folderOf({
    '.gitignore': '*.log\n/app/dist\n',
    'app/.gitignore': '!keep.log\n',
    'app/a.log': 'x',
    'app/keep.log': 'x',
    'app/dist/x': 'x',
    'app/main.js': 'x',
  })
  git(folder, 'init', '-q')
  expect(keptByUs(join(folder, 'app'))).toEqual(['.gitignore', 'keep.log', 'main.js'])
  expect(keptByGit(folder, 'app')).toEqual(['.gitignore', 'keep.log', 'main.js'])
})

test('rules that would take for ever in another engine do not', () => {
  const file = readIgnoreFile('', `${'*a'.repeat(30)}b\n${'**/'.repeat(30)}x\n`)
  const path = `${'a'.repeat(60)}/${'a/'.repeat(100)}c`
  expect(cpuMs(() => isIgnored([file], path, false))).toBeLessThan(2_000)
})

test('modes are kept, the repository itself is not pushed', () => {
  const folder = folderOf({
    'run.sh': '#!/bin/sh\n',
    '.git/config': '[core]\n',
    'sub/.git': 'gitdir: ../x\n',
  })
  chmodSync(join(folder, 'run.sh'), 0o755)
  expect(readSourceFolder(folder).map(({ path, isExecutable }) => [path, isExecutable])).toEqual([
    ['run.sh', true],
  ])
})

test('every problem is said at once, before anything is sent', () => {
  const folder = folderOf({ 'Readme.md': 'x', 'README.md': 'y', 'big.bin': 'x'.repeat(1024 * 1024 + 1) })
  symlinkSync('/etc/passwd', join(folder, 'link'))
  execFileSync('mkfifo', [join(folder, 'pipe')])
  try {
    readSourceFolder(folder)
    expect.unreachable()
  } catch (error) {
    expect((error as ServiceError).problems?.toSorted()).toEqual([
      '"Readme.md": collides with "README.md" where names ignore case or accents',
      '"big.bin": is larger than 1 MiB',
      '"link": is a symbolic link',
      '"pipe": is not a file',
    ])
  }
})

test('a folder that is not there, or has nothing, is an error that says so', () => {
  expect(() => readSourceFolder(join(tmpdir(), 'svc-nowhere'))).toThrow('There is no folder')
  expect(() => readSourceFolder(folderOf({}))).toThrow('cannot be pushed')
})
