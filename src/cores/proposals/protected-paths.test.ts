import { describe, expect, test } from 'vitest'
import { cpuMs } from '../../../test/support/cpu-ms.ts'
import { fitsGlob } from './path-globs.ts'
import { PROTECTED_CLASS_NAMES } from '../../contracts/protected-classes.ts'
import { problemOnWindows, problemWithPath } from '../../contracts/source-paths.ts'
import { executedFiles } from './executed-files.ts'
import { protectedAmong } from './protected-paths.ts'

const NONE = { globs: [], allowed: [], executed: new Set<string>() }

describe('a glob', () => {
  test.each([
    ['src/billing/**', 'src/billing/a/b.ts', true],
    ['src/billing', 'src/billing/a.ts', true],
    ['src/billing/', 'src/billing/a.ts', true],
    ['src/billing/**', 'src/billings/a.ts', false],
    ['src/*.ts', 'src/a.ts', true],
    ['src/*.ts', 'src/a/b.ts', false],
    ['src/**/*.sql', 'src/a.sql', true],
    ['src/**/*.sql', 'src/a/b/c.sql', true],
    ['**/auth/**', 'lib/auth/token.ts', true],
    ['*.pem', 'certs/deep/a.pem', true],
    ['*.pem', 'a.pem.txt', false],
    ['a?c', 'abc', true],
    ['a?c', 'ac', false],
    ['Src/Auth/**', 'src/auth/x', true],
    ['ＡＢ', 'ab', true],
    ['**', 'anything/at/all', true],
    ['***', 'x', true],
    ['[ab].txt', 'a.txt', false],
  ])('%s and %s: %s', (glob, path, fits) => {
    expect(fitsGlob(path, glob)).toBe(fits)
  })

  test('of many stars takes no longer than its length', () => {
    const path = `${'a/'.repeat(39)}${'a'.repeat(200)}`
    const spentMs = cpuMs(() => {
      expect(fitsGlob(path, `${'**/a*'.repeat(30)}b`)).toBe(false)
      expect(fitsGlob('a'.repeat(1_000), `${'*a'.repeat(90)}b`)).toBe(false)
    })
    expect(spentMs).toBeLessThan(1_000)
  })
})

describe('a path', () => {
  test.each([
    '.github/workflows/ci.yml',
    '.GitHub/workflows/ci.yml',
    'packages/web/.github/x',
    '.gitlab-ci.yml',
    '.gitlab-ci.yaml',
    '.github./workflows/ci.yml',
    '.github /workflows/ci.yml',
    '.vscode/tasks.json',
    '.devcontainer/devcontainer.json',
    '.cargo/config.toml',
    'web/.pnpmfile.cjs',
    'gradle/wrapper/gradle-wrapper.properties',
    '.windsurfrules',
    'buildspec.yml',
    'deploy/Jenkinsfile',
    '.env',
    '.env.production',
    'config/prod.env',
    'certs/server.key',
    'AGENTS.md',
    'docs/CLAUDE.md',
    '.claude/settings.json',
    '.husky/pre-commit',
    '.npmrc',
    'CODEOWNERS',
    'package-lock.json',
    'api/Cargo.lock',
    'deploy.sh',
    'Dockerfile',
    'web/Dockerfile.dev',
    'compose.yaml',
    'Makefile',
    'vite.config.js',
    '.eslintrc.js',
    '.bazelrc',
    '.zed/tasks.json',
    '.junie/guidelines.md',
    '.roo/rules/a.md',
    '.aider.conf.yml',
    'copilot-instructions.md',
    'skills/x/SKILL.md',
  ])('%s is protected', (path) => {
    expect(protectedAmong([path], NONE)).toEqual([path])
  })

  test.each([
    'src/main.js',
    'package.json',
    'environment.ts',
    'src/keys.ts',
    'README.md',
    'github/x',
    'src/deployment.ts',
    'src/config.js',
    'docs/build.md',
  ])('%s is not', (path) => {
    expect(protectedAmong([path], NONE)).toEqual([])
  })

  test('of a lock file may change with what it is made from, in its own folder', () => {
    expect(protectedAmong(['a/package-lock.json', 'a/package.json'], NONE)).toEqual([])
    expect(protectedAmong(['a/package-lock.json', 'package.json'], NONE)).toEqual(['a/package-lock.json'])
    // Also in capitals.
    expect(protectedAmong(['Api/Cargo.lock', 'Api/Cargo.toml', 'Gemfile', 'Gemfile.lock'], NONE)).toEqual([])
  })

  test('may be protected by the organization', () => {
    expect(
      protectedAmong(['src/billing/charge.ts', 'src/a.ts'], { ...NONE, globs: ['src/billing/**'] }),
    ).toEqual(['src/billing/charge.ts'])
  })

  test('of a class may be opened, and of another one, a secret or our own not with it', () => {
    const paths = ['Dockerfile', 'Makefile', '.env', '.svc/app.json']
    expect(protectedAmong(paths, { ...NONE, allowed: ['containers'] })).toEqual(paths.slice(1))
    const all = { ...NONE, allowed: [...PROTECTED_CLASS_NAMES] }
    expect(protectedAmong(paths, all)).toEqual(['.env', '.svc/app.json'])
  })

  test('that something runs is protected, until build scripts are opened', () => {
    const executed = new Set(['bin/release.py'])
    expect(protectedAmong(['bin/release.py', 'bin/other.py'], { ...NONE, executed })).toEqual([
      'bin/release.py',
    ])
    expect(protectedAmong(['bin/release.py'], { ...NONE, executed, allowed: ['build'] })).toEqual([])
  })
})

test('what a command or the script of a manifest names is executed', () => {
  const paths = ['bin/release.py', 'tools/build.mjs', 'web/tools/build.mjs', 'web/prepare.js', 'src/a.js']
  const manifests = [
    { path: 'package.json', text: '{"scripts":{"build":"node ./tools/build.mjs && echo done"}}' },
    {
      path: 'web/package.json',
      text: '{"scripts":{"prepare":"node prepare","build:all":["sh -c \'node tools/build.mjs\'"],"start":"node ../src/a.js"}}',
    },
    { path: 'broken/package.json', text: '{' },
    { path: 'odd/package.json', text: '{"scripts":7}' },
  ]
  expect([...executedFiles(paths, ['python3 "./bin/release.py" --now'], manifests)].toSorted()).toEqual([
    'bin/release.py',
    'tools/build.mjs',
    'web/prepare.js',
    'web/tools/build.mjs',
  ])
  for (const command of ['cd bin && ./release.py', '/srv/shop/bin/release.py', '$PWD/bin/release.py']) {
    expect([...executedFiles(paths, [command], [])]).toEqual(['bin/release.py'])
  }
  expect(executedFiles(paths, ['npm start'], []).size).toBe(0)
})

test.each(['git~1/config', '.git./config', '.GIT /config'])('%s is a .git folder on Windows', (path) => {
  expect(problemWithPath(path)).toBe('lies in a .git folder')
})

test.each(['src/aux.js', 'NUL', 'a./b', 'a /b', 'src/progra~1/x', 'a?.txt', 'com1.txt'])(
  '%s is not proposed, for what it is on Windows',
  (path) => expect(problemOnWindows(path)).toBeTypeOf('string'),
)

test.each(['src/auxiliary.js', 'console.ts', 'a~b', 'v1~2-notes.md', '.eslintrc'])(
  '%s is a name everywhere',
  (path) => {
    expect(problemOnWindows(path)).toBeUndefined()
  },
)
