import { expect, test } from 'vitest'
import { EVENTS } from './events.ts'
import { outcomeOf, RULES_MODEL, RUN_OUTCOMES, TERMINAL_CODES } from './outcomes.ts'

const COMPLETED = 'application.maintenance.run.completed'
const FAILED = 'application.maintenance.run.failed'

/** The table of the contract, row by row. */
const TABLE = [
  ['found_nothing', 'found_nothing', 'Ran, found nothing', 0, COMPLETED],
  ['finding_recorded', 'finding_recorded', 'Finding recorded', 11, COMPLETED],
  ['proposed', 'proposed', 'A proposal in the change queue', 0, COMPLETED],
  ['budget_exhausted', 'budget_exhausted', 'Budget limited', 0, COMPLETED],
  ['skipped', 'skipped', 'Skipped', 0, null],
  ['agent_error', 'agent_error', 'Agent error', 1, FAILED],
  ['lease_lost', 'agent_error', 'Agent error', 1, FAILED],
  ['fenced_disabled', 'fenced', 'Stopped: switched off', 6, null],
] as const

test.each(TABLE)('%s', (code, outcome, chip, exitCode, event) => {
  expect(outcomeOf(code)).toEqual({ outcome, chip, exitCode, event })
})

test('the table is whole, and every event of it is in the catalog', () => {
  expect(TERMINAL_CODES.toSorted()).toEqual(TABLE.map(([code]) => code).toSorted())
  expect(RUN_OUTCOMES.toSorted()).toEqual(
    [...new Set(TABLE.map(([, outcome]) => outcome)), 'unknown'].toSorted(),
  )
  for (const [, , , , event] of TABLE) if (event) expect(Object.keys(EVENTS)).toContain(event)
})

test.each(['', 'ok', 'healthy', 'Found_Nothing', 'found_nothing ', '__proto__', 'constructor', 'toString'])(
  'whatever else it is, %j is never a healthy result',
  (code) => {
    expect(outcomeOf(code, RULES_MODEL)).toEqual({
      outcome: 'unknown',
      chip: 'Unrecognised result',
      exitCode: 1,
      event: null,
    })
  },
)

test('what the rules did not find is said with their name, and nothing else is', () => {
  expect(outcomeOf('found_nothing', RULES_MODEL).chip).toBe('Ran, found nothing (rules only)')
  expect(outcomeOf('found_nothing', 'another').chip).toBe('Ran, found nothing')
  expect(outcomeOf('finding_recorded', RULES_MODEL).chip).toBe('Finding recorded')
})
