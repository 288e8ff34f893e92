/** A tree that was pushed before is pushed again with the installed client: how much of it is sent, and how long it takes. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { installClient, machinesNode } from '../test/support/installed-client.ts'
import { freePort, inTemporaryFolder, startServer, untilAnswers, untilSays } from './programs.ts'
import { metOrMissed } from './results.ts'
import { timed } from './timing.ts'
import { sized } from './sizes.ts'

const FILES = sized(2_000, 80)

export const appSource = () =>
  inTemporaryFolder(async (folder) => {
    const svc = await installClient(join(folder, 'installed'))
    const node = machinesNode()
    const port = await freePort()
    const server = startServer(join(folder, 'data'), port)
    try {
      await untilAnswers(`http://localhost:${port}/readyz`, server)
      await untilSays('first-run.txt', server)
      const token =
        /Bearer (svc_\w+)/.exec(readFileSync(join(folder, 'data/first-run.txt'), 'utf8'))?.[1] ?? ''
      const env = { PATH: process.env.PATH ?? '', HOME: folder }
      const run = (...args: string[]) => execFileSync(node.path, [svc, ...args], { env, encoding: 'utf8' })
      run('login', '--api-url', `http://localhost:${port}`, '--api-key', token)
      run('apps', 'create', 'bench')
      const tree = join(folder, 'tree')
      writeTree(tree)
      const push = () => {
        const printed = run('apps', 'push', 'bench', tree, '--json')
        return JSON.parse(printed) as { sent_files: number; sent_bytes: number; created: boolean }
      }
      const first = await timed(async () => push())
      const again = await timed(async () => push())
      writeFileSync(join(tree, 'folder-0', 'file-0.txt'), 'changed\n')
      const changed = await timed(async () => push())
      const sent = (pushed: typeof first) => `${pushed.result.sent_files} sent in ${Math.round(pushed.ms)} ms`
      const verdict = (pushed: typeof first, target: number) =>
        `target ${target}: ${metOrMissed(pushed.result.sent_files === target)}`
      return [
        `${FILES} new files: ${sent(first)}`,
        `the same again: ${sent(again)} (${verdict(again, 0)})`,
        `one of them changed: ${sent(changed)} (${verdict(changed, 1)})`,
      ]
    } finally {
      await server.stop()
    }
  })

function writeTree(tree: string): void {
  for (let at = 0; at < FILES; at++) {
    const folder = join(tree, `folder-${at % 40}`)
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, `file-${at}.txt`), `file ${at}\n`.repeat(50))
  }
}
