/** The package as npm makes it: its client runs on the machine's own Node, with an empty home and nothing beside it. */
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { machinesNode } from '../support/installed-client.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const node = machinesNode()
let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-packed-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function svc(program: string, ...args: string[]) {
  const env = { PATH: '/usr/bin:/bin', HOME: join(folder, 'home') }
  const { status, stdout, stderr } = spawnSync(node.path, [program, ...args], {
    env,
    cwd: join(folder, 'home'),
    encoding: 'utf8',
  })
  return { status, stdout, stderr }
}

test('npm pack builds the client into the package, and the package is all it needs', () => {
  // A copy, so that no dist/ appears in the checkout.
  const copy = join(folder, 'copy')
  const tracked = execFileSync('git', ['ls-files'], { cwd: ROOT, encoding: 'utf8' }).trim().split('\n')
  for (const path of tracked) cpSync(join(ROOT, path), join(copy, path))
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'))
  execFileSync('npm', ['pack', '--pack-destination', folder], { cwd: copy, stdio: 'pipe' })
  const archive = readdirSync(folder).find((name) => name.endsWith('.tgz'))!
  execFileSync('tar', ['xzf', archive], { cwd: folder })
  mkdirSync(join(folder, 'home'))

  const program = join(folder, 'package/bin/svc.cjs')
  expect(svc(program, '--version')).toMatchObject({ status: 0, stderr: '' })
  expect(svc(program, 'status', '--json')).toMatchObject({ status: 3 })
  expect(svc(program, 'login', '--api-url', 'http://localhost:1', '--api-key', 'svc_x')).toMatchObject({
    status: 1,
  })
  expect(svc(program, 'skills', 'install', 'svc')).toMatchObject({ status: 0 })
  expect(readdirSync(join(folder, 'home/.agents/skills/svc')).toSorted()).toEqual(['SKILL.md', 'references'])
})
