/**
 * What a maintenance run costs besides its model: a tool call against the bare query, a night in which a thousand apps are due,
 * and a run of forty steps with a model that answers at once.
 */
import { once } from 'node:events'
import { startPostgres } from '../test/support/postgres.ts'
import type { MaintenanceRounds, MaintenanceSettings } from './maintenance-rounds.ts'
import { file, median, run } from './programs.ts'
import { roundsOf, sized } from './sizes.ts'

const SETTINGS = {
  lines: sized(20_000, 2_000),
  files: sized(200, 20),
  checks: sized(20, 5),
  apps: sized(1_000, 20),
  steps: sized(40, 8),
  rounds: roundsOf(5),
} as const
const TARGETS = { toolRatio: 2, dispatchMs: 1_000, runMs: 1_000 }

export async function maintenance(): Promise<string[]> {
  const database = await startPostgres()
  try {
    const settings: MaintenanceSettings = { ...SETTINGS, database: database.url }
    const program = run([file('maintenance-rounds.ts'), JSON.stringify(settings)])
    if (program.child.exitCode === null) await once(program.child, 'exit')
    if (program.child.exitCode !== 0) throw new Error(`it failed: ${program.output()}`)
    const measured = JSON.parse(program.output().trim().split('\n').at(-1)!) as MaintenanceRounds
    return [...toolLines(measured), ...dispatchLines(measured), ...runLines(measured)]
  } finally {
    await database.stop()
  }
}

const verdict = (isMet: boolean): string => (isMet ? 'met' : 'MISSED')

function toolLines({ tools }: MaintenanceRounds): string[] {
  const rows = Object.entries(tools).map(([name, { bare, ours }]) => ({
    name,
    bare: median(bare),
    ours: median(ours),
  }))
  // Each for itself: in a sum the slowest query would hide what the others cost.
  return rows.map(({ name, bare, ours }) => {
    const ratio = ours / bare
    return `${name.padEnd(18)} query ${bare.toFixed(2)} ms, through the tool host ${ours.toFixed(2)} ms: ${ratio.toFixed(2)}x (target ${TARGETS.toolRatio}x: ${verdict(ratio <= TARGETS.toolRatio)})`
  })
}

function dispatchLines({ dispatch }: MaintenanceRounds): string[] {
  const [ms, databaseMs] = [
    median(dispatch.map((one) => one.ms)),
    median(dispatch.map((one) => one.databaseMs)),
  ]
  return [
    `${SETTINGS.apps.toLocaleString('en')} apps of as many organizations due  ${Math.round(databaseMs)} ms CPU of the database, ${Math.round(ms)} ms (target ${TARGETS.dispatchMs} ms CPU: ${verdict(databaseMs < TARGETS.dispatchMs)})`,
  ]
}

function runLines({ runs }: MaintenanceRounds): string[] {
  const [own, database] = [
    median(runs.map(({ cpuMs }) => cpuMs)),
    median(runs.map(({ databaseMs }) => databaseMs)),
  ]
  const all = own + database
  return [
    `a run of ${SETTINGS.steps} steps  ${Math.round(own)} ms CPU, and ${Math.round(database)} ms of the database (target ${TARGETS.runMs} ms together: ${verdict(all < TARGETS.runMs)})`,
  ]
}
