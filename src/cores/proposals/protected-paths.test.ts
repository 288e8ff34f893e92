import { describe, expect, test } from 'vitest'
import { fitsGlob } from './path-globs.ts'
import { protectedAmong } from './protected-paths.ts'

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
    const started = performance.now()
    expect(fitsGlob(path, `${'**/a*'.repeat(30)}b`)).toBe(false)
    expect(fitsGlob('a'.repeat(1_000), `${'*a'.repeat(90)}b`)).toBe(false)
    expect(performance.now() - started).toBeLessThan(1_000)
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
  ])('%s is protected', (path) => {
    expect(protectedAmong([path], [])).toEqual([path])
  })

  test.each(['src/main.js', 'package.json', 'environment.ts', 'src/keys.ts', 'README.md', 'github/x'])(
    '%s is not',
    (path) => {
      expect(protectedAmong([path], [])).toEqual([])
    },
  )

  test('of a lock file may change with what it is made from, in its own folder', () => {
    expect(protectedAmong(['a/package-lock.json', 'a/package.json'], [])).toEqual([])
    expect(protectedAmong(['a/package-lock.json', 'package.json'], [])).toEqual(['a/package-lock.json'])
  })

  test('may be protected by the organization', () => {
    expect(protectedAmong(['src/billing/charge.ts', 'src/a.ts'], ['src/billing/**'])).toEqual([
      'src/billing/charge.ts',
    ])
  })
})
