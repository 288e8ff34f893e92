/** The artifacts of a release, each from what is committed. */
import { execFileSync } from 'node:child_process'
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
  archiveImageContext(root, join(folder, `svc-image-context-${version}.tar.gz`))
  archiveServerBundle(root, join(folder, `svc-server-bundle-${version}.tar.gz`))
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
  // From its folder, and not `HEAD:chart`: that would have the time of this moment instead of the commit's.
  const file = join(folder, `${name}-chart-${version}.tgz`)
  archive(join(root, 'chart'), ['--prefix', `${name}/`, '--output', file, 'HEAD'])
}

/** For `podman build - < file`: what the build is sent, and how to build it. */
function archiveImageContext(root: string, file: string): void {
  const isSent = sentToBuild(readFileSync(join(root, '.dockerignore'), 'utf8'))
  const tracked = execFileSync('git', ['ls-files'], { cwd: root, encoding: 'utf8' }).trim().split('\n')
  const paths = tracked.filter(isSent)
  archive(root, ['--output', file, 'HEAD', '--', 'Containerfile', '.dockerignore', ...paths])
}

/** For a checkout of this commit, whose packages are without those that build: it is unpacked in its folder. */
function archiveServerBundle(root: string, file: string): void {
  execFileSync(process.execPath, [join(root, 'scripts/build-server.ts')], { cwd: root, stdio: 'pipe' })
  const bundles = join(root, 'dist/server')
  const { folder, inputs } = JSON.parse(readFileSync(join(bundles, 'current.json'), 'utf8')) as CurrentBundle
  const copy = mkdtempSync(join(tmpdir(), 'svc-server-bundle-'))
  try {
    // Times are those of this machine's files, and would make every archive another one.
    const timeless = inputs.map(([path, size, , sha256]) => [path, size, 0, sha256])
    writeFileSync(join(copy, 'current.json'), JSON.stringify({ folder, inputs: timeless }))
    const chunks = readdirSync(join(bundles, folder)).toSorted()
    archive(root, [
      '--output',
      file,
      `--prefix=dist/server/${folder}/`,
      ...chunks.map((name) => `--add-file=${join(bundles, folder, name)}`),
      '--prefix=dist/server/',
      `--add-file=${join(copy, 'current.json')}`,
      'HEAD',
      '--',
      'LICENSE',
    ])
  } finally {
    rmSync(copy, { recursive: true, force: true })
  }
}

function archive(cwd: string, args: readonly string[]): void {
  execFileSync('git', ['archive', '--format=tar.gz', ...args], { cwd, stdio: 'pipe' })
}
