/** A release, made in a clone: every artifact from what is committed, and published only with its tag. */
import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  appendFileSync,
  chmodSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import { readText, ROOT } from '../repository/source-tree.ts'
import { instructionsOf } from '../support/containerfile.ts'

const { version } = JSON.parse(readText('package.json')) as { version: string }
const chart = parse(readText('chart/Chart.yaml')) as { version: string }
const sdk = JSON.parse(readText('sdk/worker/package.json')) as { version: string }

let folder: string
let clone: string
let out: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-release-'))
  clone = join(folder, 'svc')
  out = join(clone, 'dist/release')
  execFileSync('git', ['clone', '--quiet', '--no-hardlinks', '--no-tags', ROOT, clone])
  symlinkSync(join(ROOT, 'node_modules'), join(clone, 'node_modules'))
  // A symlink, where the repository ignores a folder.
  appendFileSync(join(clone, '.git/info/exclude'), '/node_modules\n')
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const git = (...args: string[]): string =>
  execFileSync('git', ['-c', 'user.name=Test', '-c', 'user.email=test@example.com', ...args], {
    cwd: clone,
    encoding: 'utf8',
  })

/** With a `gh` that only writes down how it was called. */
function release(...args: string[]) {
  const programs = join(folder, 'programs')
  mkdirSync(programs, { recursive: true })
  writeFileSync(join(programs, 'gh'), `#!/bin/sh\nprintf '%s\\n' "$@" > '${join(folder, 'published')}'\n`)
  chmodSync(join(programs, 'gh'), 0o755)
  const env = { PATH: `${programs}:${process.env['PATH'] ?? ''}`, HOME: folder }
  const { status, stdout, stderr } = spawnSync(join(clone, 'scripts/release'), args, {
    cwd: folder,
    env,
    encoding: 'utf8',
  })
  return { status, stdout, stderr }
}

const namesIn = (archive: string): string[] =>
  execFileSync('tar', ['tzf', join(out, archive)], { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 })
    .trim()
    .split('\n')
    .filter((name) => !name.endsWith('/'))

test('a dry run makes every artifact, and a second one the same bytes', () => {
  expect(release('--dry-run')).toMatchObject({ status: 0, stderr: '' })
  const made = readdirSync(out).toSorted()
  expect(made).toEqual(
    [
      'SHA256SUMS',
      'notes.md',
      'skill-svc-ai-gateway.tar.gz',
      'skill-svc.tar.gz',
      'skills-history.json',
      `svc-chart-${chart.version}.tgz`,
      `svc-dev-client-${version}.tgz`,
      `svc-image-context-${version}.tar.gz`,
      `svc-server-bundle-${version}.tar.gz`,
      `svc-worker-${sdk.version}.tgz`,
    ].toSorted(),
  )
  const sums = readFileSync(join(out, 'SHA256SUMS'), 'utf8')
  const of = (name: string): string =>
    createHash('sha256')
      .update(readFileSync(join(out, name)))
      .digest('hex')
  expect(sums.trim().split('\n')).toEqual(
    made.filter((name) => !['SHA256SUMS', 'notes.md'].includes(name)).map((name) => `${of(name)}  ${name}`),
  )
  expect(release('--dry-run')).toMatchObject({ status: 0 })
  expect(readFileSync(join(out, 'SHA256SUMS'), 'utf8')).toBe(sums)
  expect(git('status', '--porcelain')).toBe('')
})

test('the chart is in a folder of its name; the context has what the image copies, and no tests', () => {
  const inChart = namesIn(`svc-chart-${chart.version}.tgz`)
  expect(inChart).toEqual(
    expect.arrayContaining(['svc/Chart.yaml', 'svc/values.yaml', 'svc/values.schema.json']),
  )
  expect(inChart.filter((name) => !name.startsWith('svc/'))).toEqual([])

  const inContext = namesIn(`svc-image-context-${version}.tar.gz`)
  const copied = instructionsOf(readText('Containerfile'))
    .filter(({ instruction, rest }) => instruction === 'COPY' && !rest.includes('--from='))
    .flatMap(({ rest }) => rest.split(' ').slice(0, -1))
  const without = copied.filter(
    (path) => !inContext.some((name) => name === path || name.startsWith(`${path}/`)),
  )
  expect(without).toEqual([])
  expect(inContext).toEqual(expect.arrayContaining(['Containerfile', '.dockerignore', 'skills/history.json']))
  expect(inContext.filter((name) => name.endsWith('.test.ts') || name.startsWith('test/'))).toEqual([])
})

test('the bundle, unpacked in another checkout of the same commit, is what runs there', () => {
  const other = join(folder, 'other')
  execFileSync('git', ['clone', '--quiet', '--no-tags', clone, other])
  symlinkSync(join(ROOT, 'node_modules'), join(other, 'node_modules'))
  execFileSync('tar', ['xzf', join(out, `svc-server-bundle-${version}.tar.gz`), '-C', other])
  const main = globSync('dist/server/*/main.js', { cwd: other })
  expect(main).toHaveLength(1)
  writeFileSync(join(other, main[0]!), `process.stdout.write('bundle')`)
  expect(execFileSync(process.execPath, [join(other, 'bin/server')], { encoding: 'utf8' })).toBe('bundle')
})

test('what is not committed, and a version that disagrees, is refused with the reason', () => {
  appendFileSync(join(clone, 'compose.yaml'), '# more\n')
  expect(release('--dry-run')).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('uncommitted') as string,
  })
  git('checkout', '--quiet', 'compose.yaml')
  const text = readFileSync(join(clone, 'chart/Chart.yaml'), 'utf8')
  writeFileSync(join(clone, 'chart/Chart.yaml'), text.replace(/^appVersion: .*$/m, 'appVersion: 9.9.9'))
  git('commit', '--quiet', '--all', '--message', 'another version')
  expect(release('--dry-run')).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('appVersion 9.9.9') as string,
  })
  git('reset', '--quiet', '--hard', 'HEAD~1')
})

test('without its tag and its section of the changelog nothing is published; with both, all of it', () => {
  const refused = release()
  expect(refused.status).toBe(1)
  expect(refused.stderr).toContain(`CHANGELOG.md has no section ${version}`)
  expect(refused.stderr).toContain(`this commit does not have the tag v${version}`)

  const changelog = readFileSync(join(clone, 'CHANGELOG.md'), 'utf8')
  writeFileSync(join(clone, 'CHANGELOG.md'), changelog.replace('## Unreleased', `## ${version}`))
  git('commit', '--quiet', '--all', '--message', 'release')
  git('tag', `v${version}`)
  expect(release()).toMatchObject({ status: 0 })
  const published = readFileSync(join(folder, 'published'), 'utf8').trim().split('\n')
  expect(published.slice(0, 4)).toEqual(['release', 'create', `v${version}`, '--verify-tag'])
  const files = readdirSync(out).filter((name) => name !== 'notes.md')
  expect(published.filter((word) => files.some((name) => word === join(out, name)))).toHaveLength(
    files.length,
  )
  expect(readFileSync(join(out, 'notes.md'), 'utf8')).toContain('The first version')
})

test('after the tag, other texts of the skills need another version', () => {
  appendFileSync(join(clone, 'skills/svc-faq/SKILL.md'), '\nMore.\n')
  expect(release('--skills')).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('raise the version') as string,
  })
})
