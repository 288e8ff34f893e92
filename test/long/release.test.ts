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
  makeProgram('gh', `printf '%s\\n' "$@" > '${join(folder, 'published')}'`)
  for (const engine of ['podman', 'docker']) makeProgram(engine, NO_ENGINE)
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const git = (...args: string[]): string =>
  execFileSync('git', ['-c', 'user.name=Test', '-c', 'user.email=test@example.com', ...args], {
    cwd: clone,
    encoding: 'utf8',
  })

function makeProgram(name: string, script: string): void {
  const programs = join(folder, 'programs')
  mkdirSync(programs, { recursive: true })
  writeFileSync(join(programs, name), `#!/bin/sh\n${script}\n`)
  chmodSync(join(programs, name), 0o755)
}

/** No engine of this machine: an image takes minutes and the base images of a registry. */
const NO_ENGINE = 'exit 1'

/** With a `gh` that only writes down how it was called. */
function release(...args: string[]) {
  const env = { PATH: `${join(folder, 'programs')}:${process.env['PATH'] ?? ''}`, HOME: folder }
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

test('every file is made, and a second time the same bytes', () => {
  const first = release()
  expect(first, first.stderr).toMatchObject({ status: 0, stderr: '' })
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
      `svc-sbom-${version}.cdx.json`,
      `svc-server-${version}.tar.gz`,
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
  expect(release()).toMatchObject({ status: 0 })
  expect(readFileSync(join(out, 'SHA256SUMS'), 'utf8')).toBe(sums)
  expect(git('status', '--porcelain')).toBe('')
})

test('docs/install.md names every file as it is made', () => {
  const page = readText('docs/install.md')
  const named = new Set(
    [
      ...page.matchAll(
        /\b(?:svc-[a-z-]+-\d\S*?|skills-history|notes|SHA256SUMS)(?:\.tar\.gz|\.tgz|\.tar|\.cdx\.json|\.json|\.md|(?=`|\n))/g,
      ),
    ].map(([name]) => name),
  )
  const made = readdirSync(out).filter((name) => !name.startsWith('skill-'))
  // Only where there is a container engine.
  expect([...named].toSorted()).toEqual([...made, `svc-image-${version}.tar`].toSorted())
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

test('the server, unpacked anywhere, runs its bundle; no tests and nothing of developers are in it', () => {
  const names = namesIn(`svc-server-${version}.tar.gz`)
  expect(names.filter((name) => !name.startsWith(`svc-${version}/`))).toEqual([])
  expect(names.filter((name) => /\.test\.ts$|\/(?:test|bench)\//.test(name))).toEqual([])
  execFileSync('tar', ['xzf', join(out, `svc-server-${version}.tar.gz`), '-C', folder])
  const unpacked = join(folder, `svc-${version}`)
  const pages = [
    'install',
    'operating',
    'self-hosting',
    'troubleshooting',
    'errors',
    'decisions/0002-validate-on-every-call',
  ]
  expect(names).toEqual(expect.arrayContaining(pages.map((page) => `svc-${version}/docs/${page}.md`)))
  expect(JSON.parse(readFileSync(join(unpacked, 'dist/build-info.json'), 'utf8'))).toEqual({
    commit: git('rev-parse', 'HEAD').trim(),
    tag: null,
  })
  symlinkSync(join(ROOT, 'node_modules'), join(unpacked, 'node_modules'))
  const run = () =>
    execFileSync(process.execPath, [join(unpacked, 'bin/server'), '--version'], { encoding: 'utf8' })
  expect(run()).toBe(`${version}\n`)
  const main = globSync('dist/server/*/main.js', { cwd: unpacked })
  expect(main).toHaveLength(1)
  writeFileSync(join(unpacked, main[0]!), `process.stdout.write('bundle')`)
  expect(run()).toBe('bundle')
})

test('the SBOM names every package that is installed, and none of the developers', () => {
  const sbom = JSON.parse(readFileSync(join(out, `svc-sbom-${version}.cdx.json`), 'utf8')) as {
    bomFormat: string
    metadata: { component: { name: string; version: string } }
    components: { name: string; version: string }[]
  }
  expect([sbom.bomFormat, sbom.metadata.component]).toMatchObject(['CycloneDX', { name: 'svc', version }])
  const lock = JSON.parse(readText('package-lock.json')) as {
    packages: Record<string, { version: string; dev?: true }>
  }
  const named = new Set(sbom.components.map((one) => `${one.name}@${one.version}`))
  const installed = Object.entries(lock.packages)
    .filter(([path, { dev }]) => path !== '' && !dev)
    .map(([path, one]) => `${path.split('node_modules/').at(-1)}@${one.version}`)
  expect(new Set(installed)).toEqual(named)
  expect(named).toContain(`@hono/node-server@${lock.packages['node_modules/@hono/node-server']!.version}`)
  expect([...named].filter((name) => name.startsWith('vitest@'))).toEqual([])
})

test('with a container engine, the image is built from the context and saved', () => {
  makeProgram(
    'podman',
    `echo "$@" >> '${join(folder, 'asked')}'\n[ "$1" = save ] && echo image > "$3"\ncat > /dev/null\nexit 0`,
  )
  expect(release()).toMatchObject({ status: 0 })
  makeProgram('podman', NO_ENGINE)
  const commit = git('rev-parse', 'HEAD').trim()
  expect(readFileSync(join(folder, 'asked'), 'utf8').trim().split('\n')).toEqual([
    'version',
    `build --file Containerfile --tag svc:${version} --build-arg SVC_BUILD_COMMIT=${commit} -`,
    `save --output ${join(out, `svc-image-${version}.tar`)} svc:${version}`,
  ])
  expect(readFileSync(join(out, 'SHA256SUMS'), 'utf8')).toContain(`  svc-image-${version}.tar\n`)
})

test('what is not committed, and a version that disagrees, is refused with the reason', () => {
  appendFileSync(join(clone, 'compose.yaml'), '# more\n')
  expect(release()).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('uncommitted') as string,
  })
  git('checkout', '--quiet', 'compose.yaml')
  const text = readFileSync(join(clone, 'chart/Chart.yaml'), 'utf8')
  writeFileSync(join(clone, 'chart/Chart.yaml'), text.replace(/^appVersion: .*$/m, 'appVersion: 9.9.9'))
  git('commit', '--quiet', '--all', '--message', 'another version')
  expect(release()).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('appVersion 9.9.9') as string,
  })
  git('reset', '--quiet', '--hard', 'HEAD~1')
})

test('without its tag and its section of the changelog nothing is published; with both, all of it', () => {
  const refused = release('--publish')
  expect(refused.status).toBe(1)
  expect(refused.stderr).toContain(`CHANGELOG.md has no section ${version}`)
  expect(refused.stderr).toContain(`this commit does not have the tag v${version}`)

  const changelog = readFileSync(join(clone, 'CHANGELOG.md'), 'utf8')
  writeFileSync(join(clone, 'CHANGELOG.md'), changelog.replace('## Unreleased', `## ${version}`))
  git('commit', '--quiet', '--all', '--message', 'release')
  git('tag', '--annotate', '--message', 'release', `v${version}`)
  expect(release('--publish')).toMatchObject({ status: 0 })
  const info = execFileSync('tar', [
    'xzOf',
    join(out, `svc-server-${version}.tar.gz`),
    `svc-${version}/dist/build-info.json`,
  ])
  expect(JSON.parse(info.toString())).toEqual({ commit: git('rev-parse', 'HEAD').trim(), tag: `v${version}` })
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
