/** The artifacts of a release, each from what is committed. */
import { execFileSync, spawnSync } from 'node:child_process'
import {
  cpSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  mkdtempSync,
  rmSync,
  mkdirSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parse } from 'yaml'
import type { CurrentBundle } from './build-server.ts'
import { sentToBuild } from './sent-to-build.ts'
import { RELEASED } from './generated/skills.ts'

export function makeArtifacts(root: string, folder: string): void {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
  packClient(root, folder)
  packWorkerSdk(root, folder)
  copySkills(root, folder)
  archiveChart(root, folder)
  const context = join(folder, `svc-image-context-${version}.tar.gz`)
  archiveImageContext(root, context)
  archiveServer(root, join(folder, `svc-server-${version}.tar.gz`), version)
  writeSbom(root, join(folder, `svc-sbom-${version}.cdx.json`))
  saveImage(context, join(folder, `svc-image-${version}.tar`), { root, version })
}

function packClient(root: string, folder: string): void {
  execFileSync(process.execPath, [join(root, 'scripts/pack-client.ts'), folder], { cwd: root, stdio: 'pipe' })
}

/** In a copy, because packing compiles into its folder. */
function packWorkerSdk(root: string, folder: string): void {
  const copy = mkdtempSync(join(tmpdir(), 'svc-worker-sdk-'))
  try {
    for (const path of ['sdk/worker', 'tsconfig.json']) {
      mkdirSync(join(copy, 'sdk'), { recursive: true })
      cpSync(join(root, path), join(copy, path), { recursive: true })
    }
    symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
    execFileSync('npm', ['pack', '--pack-destination', folder], {
      cwd: join(copy, 'sdk/worker'),
      stdio: 'pipe',
    })
  } finally {
    rmSync(copy, { recursive: true, force: true })
  }
}

/** As the site serves them, and the history by which clients know released files. */
function copySkills(root: string, folder: string): void {
  const archives = readdirSync(join(root, RELEASED)).filter((name) => name.endsWith('.tar.gz'))
  for (const name of archives) cpSync(join(root, RELEASED, name), join(folder, `skill-${name}`))
  cpSync(join(root, 'skills/history.json'), join(folder, 'skills-history.json'))
}

/**
 * What `helm package` makes: the chart in a folder of its name. From within the folder: for `HEAD:chart` git would stamp
 * the files with the time of the run, and every run would make other bytes.
 */
function archiveChart(root: string, folder: string): void {
  const { name, version } = parse(readFileSync(join(root, 'chart/Chart.yaml'), 'utf8')) as {
    name: string
    version: string
  }
  const file = join(folder, `${name}-chart-${version}.tgz`)
  archive(join(root, 'chart'), ['--prefix', `${name}/`, '--output', file, 'HEAD'])
}

/** For `podman build - < file`: what the build is sent, and how to build it. */
function archiveImageContext(root: string, file: string): void {
  archive(root, ['--output', file, 'HEAD', '--', 'Containerfile', '.dockerignore', ...pathsOfImage(root)])
}

function pathsOfImage(root: string): string[] {
  const isSent = sentToBuild(readFileSync(join(root, '.dockerignore'), 'utf8'))
  const tracked = execFileSync('git', ['ls-files'], { cwd: root, encoding: 'utf8' }).trim().split('\n')
  return tracked.filter(isSent)
}

/** All pages: those that tell how to run it link to the others. */
const FOR_OPERATORS = [
  'CHANGELOG.md',
  'LICENSE',
  'SECURITY.md',
  'docs/*.md',
  'docs/haproxy.cfg',
  'docs/svc.service',
]

/** What the image has, and the program bundled: unpacked, it needs only `npm ci --omit=dev`. */
function archiveServer(root: string, file: string, version: string): void {
  for (const script of ['build-info', 'build-server'])
    execFileSync(process.execPath, [join(root, `scripts/${script}.ts`)], { cwd: root, stdio: 'pipe' })
  const bundles = join(root, 'dist/server')
  const { folder, inputs } = JSON.parse(readFileSync(join(bundles, 'current.json'), 'utf8')) as CurrentBundle
  const copy = mkdtempSync(join(tmpdir(), 'svc-server-'))
  try {
    // Times are those of this machine's files, and would make every archive another one.
    const timeless = inputs.map(([path, size, , sha256]) => [path, size, 0, sha256])
    writeFileSync(join(copy, 'current.json'), JSON.stringify({ folder, inputs: timeless }))
    const chunks = readdirSync(join(bundles, folder)).toSorted()
    const inside = `svc-${version}`
    archive(root, [
      '--output',
      file,
      `--prefix=${inside}/dist/server/${folder}/`,
      ...chunks.map((name) => `--add-file=${join(bundles, folder, name)}`),
      `--prefix=${inside}/dist/server/`,
      `--add-file=${join(copy, 'current.json')}`,
      `--prefix=${inside}/dist/`,
      `--add-file=${join(root, 'dist/build-info.json')}`,
      `--prefix=${inside}/`,
      'HEAD',
      '--',
      ...new Set([...pathsOfImage(root), ...FOR_OPERATORS]),
    ])
  } finally {
    rmSync(copy, { recursive: true, force: true })
  }
}

/**
 * CycloneDX, of what the lock file names without the developers' packages, and the same bytes at every run. These are left out
 * here, because `npm sbom --omit=dev` also leaves out what both use.
 */
function writeSbom(root: string, file: string): void {
  const options = ['--package-lock-only', '--sbom-format=cyclonedx', '--sbom-type=application']
  const text = execFileSync('npm', ['sbom', ...options], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const { serialNumber: _random, ...sbom } = JSON.parse(text) as Sbom
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as Lock
  const installed = new Set(
    Object.entries(lock.packages)
      .filter(([, { dev }]) => !dev)
      .map(([path, one]) => `${one.name ?? path.split('node_modules/').at(-1)}@${one.version}`),
  )
  const at = execFileSync('git', ['log', '-1', '--format=%cI'], { cwd: root, encoding: 'utf8' }).trim()
  const component = { ...sbom.metadata.component, name: 'svc' }
  const made = {
    ...sbom,
    metadata: { ...sbom.metadata, timestamp: new Date(at).toISOString(), component },
    components: sbom.components.filter((one) => installed.has(one['bom-ref'])),
    dependencies: sbom.dependencies
      .filter(({ ref }) => installed.has(ref))
      .map((one) => ({ ...one, dependsOn: one.dependsOn?.filter((ref) => installed.has(ref)) ?? [] })),
  }
  writeFileSync(file, `${JSON.stringify(made, null, 2)}\n`)
}

type Sbom = {
  readonly serialNumber?: string
  readonly metadata: { readonly component: object }
  readonly components: readonly { readonly 'bom-ref': string }[]
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn?: readonly string[] }[]
}
/** The root has the name of the package, and every other one its path. */
type Lock = {
  readonly packages: Readonly<
    Record<string, { readonly name?: string; readonly version: string; readonly dev?: true }>
  >
}

/** Where a container engine is at hand, and gets at the base images. */
function saveImage(
  context: string,
  file: string,
  { root, version }: { readonly root: string; readonly version: string },
): void {
  // Not `--version`, which a client answers without an engine.
  const engine = ['podman', 'docker'].find(
    (program) => spawnSync(program, ['version'], { timeout: 10_000 }).status === 0,
  )
  if (engine === undefined) {
    console.log('No image: there is neither podman nor docker here. Build it from svc-image-context.')
    return
  }
  const commit = execFileSync('git', ['rev-parse', 'HEAD'], { cwd: root, encoding: 'utf8' }).trim()
  const [tag, argument] = [`svc:${version}`, `SVC_BUILD_COMMIT=${commit}`]
  const build = ['build', '--file', 'Containerfile', '--tag', tag, '--build-arg', argument, '-']
  const built = spawnSync(engine, build, {
    input: readFileSync(context),
    stdio: ['pipe', 'inherit', 'inherit'],
  })
  if (built.status !== 0) {
    console.log(
      `No image: ${engine} could not build it. What it said is above; svc-image-context has everything else.`,
    )
    return
  }
  execFileSync(engine, ['save', '--output', file, tag], { stdio: 'inherit' })
}

function archive(cwd: string, args: readonly string[]): void {
  execFileSync('git', ['archive', '--format=tar.gz', ...args], { cwd, stdio: 'pipe' })
}
