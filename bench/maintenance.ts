/**
 * What a maintenance run costs besides its model: a tool call against the bare query, a night in which a thousand apps are due,
 * and a run of forty steps with a model that answers at once.
 */
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startPostgres } from '../test/support/postgres.ts'
import type { MaintenanceRounds, MaintenanceSettings } from './maintenance-rounds.ts'
import { file, median, run } from './programs.ts'
import { metOrMissed } from './results.ts'
import { roundsOf, sized } from './sizes.ts'

const SETTINGS = {
  lines: sized(20_000, 2_000),
  files: sized(200, 20),
  checks: sized(20, 5),
  apps: sized(1_000, 20),
  steps: sized(40, 8),
  rounds: roundsOf(5),
  readLines: sized(1_000_000, 2_000),
  readFiles: sized(2_000, 50),
} as const
const TARGETS = { toolRatio: 2, dispatchMs: 1_000, runMs: 1_000, readRatio: 1.5 }

/** The last commit in which the rules read an exception only where the first line of a record named it. */
const BEFORE = '7e829bf4^'
const ROOT = fileURLToPath(new URL('..', import.meta.url))

/** The source of that commit in a folder of its own; null: this copy has no such history. */
function takeRulesBefore(folder: string): string | null {
  try {
    const archive = execFileSync('git', ['archive', BEFORE, 'src', 'package.json'], {
      cwd: ROOT,
      maxBuffer: 256 * 1024 * 1024,
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    execFileSync('tar', ['--extract', '--directory', folder], { input: archive })
  } catch {
    return null
  }
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  return join(folder, 'src/agent-runner/rules/analyst.ts')
}

export async function maintenance(): Promise<string[]> {
  const database = await startPostgres()
  const folder = mkdtempSync(join(tmpdir(), 'svc-rules-'))
  try {
    const rulesBefore = takeRulesBefore(folder)
    const settings: MaintenanceSettings = { ...SETTINGS, rulesBefore, database: database.url }
    const program = run([file('maintenance-rounds.ts'), JSON.stringify(settings)])
    if (program.child.exitCode === null) await once(program.child, 'exit')
    if (program.child.exitCode !== 0) throw new Error(`it failed: ${program.output()}`)
    const measured = JSON.parse(program.output().trim().split('\n').at(-1)!) as MaintenanceRounds
    return [
      ...toolLines(measured),
      ...dispatchLines(measured),
      ...runLines(measured),
      ...readingLines(measured),
    ]
  } finally {
    rmSync(folder, { recursive: true, force: true })
    await database.stop()
  }
}

function toolLines({ tools }: MaintenanceRounds): string[] {
  const rows = Object.entries(tools).map(([name, { bare, ours }]) => ({
    name,
    bare: median(bare),
    ours: median(ours),
  }))
  // Each for itself: in a sum the slowest query would hide what the others cost.
  return rows.map(({ name, bare, ours }) => {
    const ratio = ours / bare
    return `${name.padEnd(18)} query ${bare.toFixed(2)} ms, through the tool host ${ours.toFixed(2)} ms: ${ratio.toFixed(2)}x (target ${TARGETS.toolRatio}x: ${metOrMissed(ratio <= TARGETS.toolRatio)})`
  })
}

function dispatchLines({ dispatch }: MaintenanceRounds): string[] {
  const [ms, databaseMs] = [
    median(dispatch.map((one) => one.ms)),
    median(dispatch.map((one) => one.databaseMs)),
  ]
  return [
    `${SETTINGS.apps.toLocaleString('en')} apps of as many organizations due  ${Math.round(databaseMs)} ms CPU of the database, ${Math.round(ms)} ms (target ${TARGETS.dispatchMs} ms CPU: ${metOrMissed(databaseMs < TARGETS.dispatchMs)})`,
  ]
}

function runLines({ runs }: MaintenanceRounds): string[] {
  const [own, database] = [
    median(runs.map(({ cpuMs }) => cpuMs)),
    median(runs.map(({ databaseMs }) => databaseMs)),
  ]
  const all = own + database
  return [
    `a run of ${SETTINGS.steps} steps  ${Math.round(own)} ms CPU, and ${Math.round(database)} ms of the database (target ${TARGETS.runMs} ms together: ${metOrMissed(all < TARGETS.runMs)})`,
  ]
}

/** Without the history there is nothing to compare with, and so no verdict. */
function readingLines({ readings }: MaintenanceRounds): string[] {
  const [before, now] = [median(readings.before), median(readings.now)]
  const what = `a run of the rules over ${SETTINGS.readLines.toLocaleString('en')} lines and ${SETTINGS.readFiles.toLocaleString('en')} files`
  if (readings.before.length === 0) return [`${what}  ${Math.round(now)} ms CPU; nothing to compare with`]
  const ratio = now / before
  return [
    `${what}  before ${Math.round(before)} ms CPU, now ${Math.round(now)} ms: ${ratio.toFixed(2)}x (target ${TARGETS.readRatio}x: ${metOrMissed(ratio <= TARGETS.readRatio)})`,
  ]
}
