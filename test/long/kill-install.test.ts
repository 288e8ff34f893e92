/** Killed while a skill is installed: every file is old or new, foreign bytes are intact, and the next install clears up. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { applyPlan, planInstall, statusOf } from '../../src/cli/install/install-skill.ts'
import { snapshotFolder } from '../support/faulty-file-system.ts'
import { CURRENT, CURRENT_BODY, EARLIER, EARLIER_BODY, toySkill } from '../support/toy-skill.ts'

const ROUNDS = 8
/** Further rounds as long as there is time. */
const MORE_ROUNDS = 100
const BUDGET_MS = 8_000

const base = mkdtempSync(join(tmpdir(), 'svc-kill-install-'))
afterAll(() => rmSync(base, { recursive: true }))

const CHILD = fileURLToPath(new URL('../support/install-until-killed.ts', import.meta.url))
const CLAUDE = '.claude/skills/toy'
const AGENTS = '.agents/skills/toy'
const windows = (text: string) => text.replaceAll('\n', '\r\n')
const block = (body: string) => `<!-- BEGIN svc-skill:toy -->\n${body}<!-- END svc-skill:toy -->\n`

const FOREIGN = {
  'mine.md': 'mine',
  [`${CLAUDE}/mine.md`]: 'mine',
  [`${CLAUDE}/references/.one.md.swp`]: 'mine',
  [`${AGENTS}/.SKILL.md.svc-1-0123456789ab.tmp`]: 'of a process that lives',
}
/** What each file may be: as it was (undefined: not there), or as it will be. */
const OLD_AND_NEW: Record<string, readonly [string | undefined, string | undefined]> = {
  [`${CLAUDE}/SKILL.md`]: [windows(EARLIER['SKILL.md']), windows(CURRENT['SKILL.md'])],
  [`${CLAUDE}/references/one.md`]: [EARLIER['references/one.md'], CURRENT['references/one.md']],
  [`${CLAUDE}/references/two.md`]: [undefined, CURRENT['references/two.md']],
  [`${CLAUDE}/references/gone.md`]: [EARLIER['references/gone.md'], undefined],
  [`${AGENTS}/SKILL.md`]: [undefined, CURRENT['SKILL.md']],
  [`${AGENTS}/references/one.md`]: [undefined, CURRENT['references/one.md']],
  [`${AGENTS}/references/two.md`]: [undefined, CURRENT['references/two.md']],
  'AGENTS.md': [`mine\n${block(EARLIER_BODY)}mine`, `mine\n${block(CURRENT_BODY)}mine`],
}

let count = 0
function plant(): string {
  const root = join(base, String(count++))
  mkdirSync(join(root, '.git'), { recursive: true })
  const files = Object.entries(OLD_AND_NEW).map(([name, [old]]) => [name, old] as const)
  for (const [name, text] of [...files, ...Object.entries(FOREIGN)]) {
    if (text === undefined) continue
    mkdirSync(dirname(join(root, name)), { recursive: true })
    writeFileSync(join(root, name), text)
  }
  return root
}

const contentOf = (path: string) => (existsSync(path) ? readFileSync(path, 'utf8') : undefined)
const stampsOf = (root: string) => Object.keys(FOREIGN).map((name) => snapshotFolder(root).get(name))
const temps = (root: string) =>
  [...snapshotFolder(root).keys()].filter((name) => name.endsWith('.tmp') && !(name in FOREIGN))

/** Told what the child said, and whether it was killed. */
async function install(root: string, { atCall = 0, afterMs }: { atCall?: number; afterMs?: number }) {
  const child = spawn(process.execPath, [CHILD, root, String(atCall)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let said = ''
  let began = 0
  let tookMs = 0
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    if (said === '') began = performance.now()
    said += text
    tookMs = performance.now() - began
    if (afterMs !== undefined && text.includes('writing')) {
      void sleep(afterMs).then(() => child.kill('SIGKILL'))
    }
  })
  const [, signal] = (await once(child, 'close')) as [number | null, string | null]
  return { wasKilled: signal === 'SIGKILL', said, tookMs }
}

test('killed at any moment, and installed again', { timeout: 120_000 }, async () => {
  const began = performance.now()
  const whole = await install(plant(), {})
  const { calls, ...rest } = JSON.parse(whole.said.split('\n')[1]!) as { calls: number }
  expect(rest).toEqual({ refused: [] })

  let [killed, leftTemps, halfDone] = [0, 0, 0]
  for (let round = 0; round < ROUNDS + MORE_ROUNDS; round++) {
    if (round >= ROUNDS && performance.now() - began > BUDGET_MS) break
    const root = plant()
    const foreign = stampsOf(root)
    const { wasKilled } = await install(
      root,
      // Between any two calls, and within one: from outside, at any time.
      round % 3 === 2
        ? { afterMs: Math.random() * 1.2 * whole.tookMs }
        : { atCall: 1 + Math.floor(Math.random() * calls) },
    )
    if (wasKilled) killed++
    const isNew = Object.entries(OLD_AND_NEW).map(([name, [old, next]]) => {
      const now = contentOf(join(root, name))
      expect([old, next], name).toContain(now)
      return now === next
    })
    if (isNew.includes(true) && isNew.includes(false)) halfDone++
    if (temps(root).length > 0) leftTemps++
    expect(temps(root).length).toBeLessThanOrEqual(1)

    const where = { cwd: root, home: root, user: false, agents: true }
    const report = await applyPlan(await planInstall(toySkill(), where))
    expect([report.failed, report.refused]).toEqual([undefined, []])
    for (const [name, [, next]] of Object.entries(OLD_AND_NEW))
      expect(contentOf(join(root, name)), name).toBe(next)
    expect(temps(root)).toEqual([])
    expect(stampsOf(root)).toEqual(foreign)
    expect(statusOf(await planInstall(toySkill(), where)).state).toBe('current')
  }
  console.log(
    `Killed ${killed} times while installing: ${halfDone} left a part done, ${leftTemps} a temporary file.`,
  )
  expect(killed).toBeGreaterThanOrEqual(ROUNDS / 2)
})
