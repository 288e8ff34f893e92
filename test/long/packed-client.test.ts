/** The package of the client as npm makes and installs it: alone, on the oldest Node it is for, with an empty home. */
import { execFileSync, spawnSync } from 'node:child_process'
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { packClient } from '../../scripts/pack-client.ts'
import { readText } from '../repository/source-tree.ts'
import { machinesNode } from '../support/installed-client.ts'

const node = machinesNode()
let folder: string
let archive: string
/** What `npm i -g` makes of the archive. */
let prefix: string
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'svc-packed-'))
  mkdirSync(join(folder, 'home'))
  archive = await packClient(folder)
  prefix = join(folder, 'prefix')
  const npm = ['install', '--global', '--prefix', prefix, '--offline', '--no-audit', '--no-fund', archive]
  execFileSync('npm', npm, { cwd: join(folder, 'home'), stdio: 'pipe' })
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function svc(...args: string[]) {
  const env = { PATH: '/usr/bin:/bin', HOME: join(folder, 'home') }
  const program = join(prefix, 'bin', 'svc')
  const cwd = join(folder, 'home')
  const { status, stdout, stderr } = spawnSync(node.path, [program, ...args], { env, cwd, encoding: 'utf8' })
  return { status, stdout, stderr }
}

test('it has a scoped name, one program, no dependencies, and less than 1 MB', () => {
  const packages = join(prefix, 'lib/node_modules')
  expect(readdirSync(packages)).toEqual(['@svc-dev'])
  const installed = join(packages, '@svc-dev/client')
  const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as object
  expect(manifest).toMatchObject({ name: '@svc-dev/client', bin: { svc: 'bin/svc.cjs' } })
  for (const field of ['dependencies', 'optionalDependencies', 'peerDependencies', 'scripts']) {
    expect(manifest).not.toHaveProperty(field)
  }
  expect(existsSync(join(installed, 'node_modules'))).toBe(false)
  expect(readdirSync(join(prefix, 'bin'))).toEqual(['svc'])
  expect(readdirSync(installed).toSorted()).toEqual([
    'LICENSE',
    'README.md',
    'bin',
    'dist',
    'package.json',
    'skills',
  ])
  expect(readdirSync(join(installed, 'bin'))).toEqual(['svc.cjs'])
  expect(statSync(archive).size).toBeLessThan(1024 * 1024)
  // What the disk holds in the end counts, not what was downloaded.
  const sizes = readdirSync(prefix, { recursive: true, encoding: 'utf8' })
    .map((path) => lstatSync(join(prefix, path)))
    .filter((file) => file.isFile())
    .map((file) => file.size)
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(1024 * 1024)
})

test('it works alone on Node 20', ({ skip }) => {
  skip(!node.version.startsWith('v20.'), `the Node of this machine is ${node.version}`)
  const { version } = JSON.parse(readText('package.json')) as { version: string }
  expect(svc('--version')).toEqual({ status: 0, stdout: `${version}\n`, stderr: '' })
  expect(svc('--help')).toMatchObject({ status: 0, stderr: '' })
  expect(svc('--skill-prompt')).toMatchObject({ status: 0, stderr: '' })
  expect(svc('status', '--json')).toMatchObject({ status: 3 })
  const login = ['login', '--api-url', 'http://localhost:1', '--api-key', 'svc_x']
  expect(svc(...login)).toMatchObject({ status: 8 })
  expect(svc('skills', 'install', 'svc')).toMatchObject({ status: 0 })
  expect(readdirSync(join(folder, 'home/.agents/skills/svc')).toSorted()).toEqual(['SKILL.md', 'references'])
  // Completion, the proxy and the other commands are files of their own, which only their first use loads.
  expect(svc('__complete', 'skills', 'show', '=svc-f').stdout).toMatch(/^svc-faq\t/)
})
