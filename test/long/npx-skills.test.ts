/** Programs that others wrote read our skills: the installer from npm takes them from our index, the validator finds no fault. */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readReleasedSkills } from '../../src/skills/read-released.ts'
import { processes, type ServerProcess } from '../support/process.ts'

const run = promisify(execFile)
const at = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url))
const INSTALLER = at('test/clients/node_modules/skills/bin/cli.mjs')
const VALIDATOR = at('node_modules/skills-ref/dist/cli.js')
for (const [program, how] of [
  [INSTALLER, 'npm ci --prefix test/clients --ignore-scripts'],
  [VALIDATOR, 'npm ci'],
] as const) {
  if (!existsSync(program)) console.log(`${program} is not tried: ${how} installs it.`)
}

const { skills } = readReleasedSkills()!
const own = processes()
let site: ServerProcess
beforeAll(async () => {
  site = await own.start({ env: { SVC_SERVICES: 'site' } })
})
afterAll(() => own.cleanUp())

// What is not installed is named above.
describe.skipIf(!existsSync(INSTALLER))('skills add', () => {
  const add = async (project: string, ...options: string[]) => {
    const { stdout } = await run(
      process.execPath,
      [INSTALLER, 'add', site.origin, ...options, '-y', '--copy'],
      {
        cwd: project,
        env: { PATH: process.env['PATH'], HOME: project, DISABLE_TELEMETRY: '1', CI: '1', NO_COLOR: '1' },
        timeout: 30_000,
      },
    )
    return stdout
  }

  test('finds every skill of the index and installs what was released', async () => {
    const project = await own.newFolder()
    await add(project, '--skill', '*', '--agent', 'claude-code', 'codex')
    for (const { id, files } of skills) {
      for (const folder of ['.claude', '.agents']) {
        const place = join(project, folder, 'skills', id)
        const there = (await readdir(place, { recursive: true, withFileTypes: true })).filter((entry) =>
          entry.isFile(),
        )
        expect(there, `${folder}: ${id}`).toHaveLength(files.length)
        for (const { path, sha256 } of files) {
          const bytes = await readFile(join(place, path))
          expect(createHash('sha256').update(bytes).digest('hex'), `${folder}: ${id}/${path}`).toBe(sha256)
        }
      }
    }
    const lock = await readFile(join(project, 'skills-lock.json'), 'utf8')
    for (const { archive, files } of skills) {
      expect(lock).toContain(archive?.digest ?? `sha256:${files[0]!.sha256}`)
    }
  })

  test('takes one alone, by the line that the documents give', async () => {
    const project = await own.newFolder()
    await add(project, '--skill', 'svc', '--agent', 'claude-code')
    expect(await readdir(join(project, '.claude/skills'))).toEqual(['svc'])
  })
})

// What is not installed is named above.
describe.skipIf(!existsSync(VALIDATOR))('skills-ref validate', () => {
  test.each(skills.map(({ id }) => id))('%s', async (id) => {
    const { stdout } = await run(process.execPath, [VALIDATOR, 'validate', at(`skills/${id}`)])
    expect(stdout).toContain('Valid skill')
  })
})

test('the site runs alone, without secrets and without a database', async () => {
  expect((await site.fetch('/readyz')).status).toBe(200)
  expect((await site.fetch('/.well-known/agent-skills/index.json')).status).toBe(200)
  expect(await readdir(site.dataFolder).catch(() => 'nothing')).toBe('nothing')
})
