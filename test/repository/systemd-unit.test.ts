/** The unit for systemd: it names what exists, and systemd itself, where there is one, has nothing to say against it. */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { SETTINGS, readConfig } from '../../src/boot/config.ts'
import { readText, ROOT } from './source-tree.ts'

const unit = readText('docs/svc.service')
const valueOf = (key: string): string => new RegExp(`^${key}=(.*)$`, 'm').exec(unit)?.[1] ?? ''

test('its programs are those of the checkout', () => {
  const paths = valueOf('ExecStart').split(' ')
  expect(paths).toHaveLength(2)
  for (const path of paths) {
    expect(path).toMatch(/^\/opt\/svc\//)
    // Elsewhere npm brings no Node.
    if (process.platform === 'linux') expect(existsSync(path.replace('/opt/svc', ROOT)), path).toBe(true)
  }
})

test('its settings exist, and it waits longer than a stop takes', () => {
  const names = [...unit.matchAll(/^Environment=(\w+)=/gm)].map(([, name]) => name!)
  // The second is glibc's own.
  expect(names).toEqual(['SVC_DATA_DIR', 'MALLOC_MMAP_THRESHOLD_'])
  expect(names.filter((name) => !(name in SETTINGS))).toEqual(['MALLOC_MMAP_THRESHOLD_'])
  expect(Number(valueOf('TimeoutStopSec'))).toBeGreaterThan(readConfig({}).STOP_SECONDS)
})

test('a wrong setting ends it, and is not tried again every two seconds', () => {
  const env = { PATH: process.env['PATH'], PORT: 'nonsense' }
  const { status } = spawnSync(process.execPath, [join(ROOT, 'bin/server')], { env })
  expect(valueOf('Restart')).toBe('on-failure')
  expect(valueOf('RestartPreventExitStatus').split(' ').map(Number)).toContain(status)
})

test('systemd-analyze verify has nothing to say', ({ skip }) => {
  skip(spawnSync('systemd-analyze', ['--version']).status !== 0, 'there is no systemd here')
  const folder = mkdtempSync(join(tmpdir(), 'svc-unit-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  // Programs that are here: it looks whether they can be run.
  const file = join(folder, 'svc.service')
  writeFileSync(file, unit.replaceAll('/opt/svc/', ROOT))
  const { status, stdout, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', file], {
    encoding: 'utf8',
  })
  const about = (stdout + stderr).split('\n').filter((line) => line.includes('svc.service'))
  expect([status, about]).toEqual([0, []])
})
