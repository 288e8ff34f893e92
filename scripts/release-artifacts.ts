/** The artifacts of a release, each from what is committed. */
import { execFileSync } from 'node:child_process'
import { cpSync, readdirSync, readFileSync, symlinkSync, mkdtempSync, rmSync, mkdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parse } from 'yaml'
import { sentToBuild } from '../test/support/containerfile.ts'
import { RELEASED } from './generated/skills.ts'

export function makeArtifacts(root: string, folder: string): void {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
  packClient(root, folder)
  packWorkerSdk(root, folder)
  copySkills(root, folder)
  archiveChart(root, folder)
  archiveImageContext(root, join(folder, `svc-image-context-${version}.tar.gz`))
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

/** What `helm package` makes: the chart in a folder of its name. */
function archiveChart(root: string, folder: string): void {
  const { name, version } = parse(readFileSync(join(root, 'chart/Chart.yaml'), 'utf8')) as {
    name: string
    version: string
  }
  archive(root, [
    '--prefix',
    `${name}/`,
    '--output',
    join(folder, `${name}-chart-${version}.tgz`),
    'HEAD:chart',
  ])
}

/** For `podman build - < file`: what the build is sent, and how to build it. */
function archiveImageContext(root: string, file: string): void {
  const isSent = sentToBuild(readFileSync(join(root, '.dockerignore'), 'utf8'))
  const tracked = execFileSync('git', ['ls-files'], { cwd: root, encoding: 'utf8' }).trim().split('\n')
  const paths = tracked.filter(isSent)
  archive(root, ['--output', file, 'HEAD', '--', 'Containerfile', '.dockerignore', ...paths])
}

function archive(root: string, args: readonly string[]): void {
  execFileSync('git', ['archive', '--format=tar.gz', ...args], { cwd: root, stdio: 'pipe' })
}
