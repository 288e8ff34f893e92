/** The programs of docs/programs.md, as they stand there, against a server with its sample data. */
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { firstWordsIn, processes, type ServerProcess } from '../support/process.ts'

const page = readFileSync(fileURLToPath(new URL('../../docs/programs.md', import.meta.url)), 'utf8')
const blockIn = (heading: string): string => {
  const section = page.split(/^## /m).find((one) => one.startsWith(`${heading}\n`))!
  return /```\w+\n([^]*?)```/.exec(section)![1]!
}

const own = processes()
let server: ServerProcess
let token: string
beforeAll(async () => {
  server = await own.start({})
  token = (await firstWordsIn(server)).token
})
afterAll(() => own.cleanUp())

const PROGRAMS = [
  { heading: 'curl', program: 'bash', file: 'ask.sh' },
  { heading: 'Python', program: 'python3', file: 'ask.py' },
  { heading: 'TypeScript', program: process.execPath, file: 'ask.mts' },
]

test.each(PROGRAMS)('$heading', async ({ heading, program, file }) => {
  const needed = heading === 'curl' ? 'curl' : program
  if (spawnSync(needed, ['--version']).error) return console.log(`${heading} is not tried: no ${needed}.`)
  expect(blockIn(heading).trim().split('\n').length).toBeLessThanOrEqual(13)
  const path = join(await own.newFolder(), file)
  writeFileSync(path, blockIn(heading))
  const run = (SVC_API_KEY: string) =>
    spawnSync(program, [path], {
      env: { PATH: process.env['PATH'], SVC_API_URL: server.origin, SVC_API_KEY },
      encoding: 'utf8',
    })
  const asked = run(token)
  expect([asked.status, asked.stderr]).toEqual([0, ''])
  expect(asked.stdout).toMatch(/Working from another country/)
  // Who is refused notices: none of them goes on with nothing.
  const refused = run('svc_nonsense')
  expect(refused.status).not.toBe(0)
})
