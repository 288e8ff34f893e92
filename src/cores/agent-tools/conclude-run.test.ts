import { expect, test } from 'vitest'
import type { AnalystEnding } from '../../contracts/agent-tools.ts'
import { endingOf } from './conclude-run.ts'

const NOTHING = { proposal: undefined, finding: undefined, known: 0 }
const FINDING = { id: 'fnd_1', summary: 'It breaks', fingerprint: 'fp_1' }
const PROPOSAL = { id: 'pr_1', title: 'Repair it', fingerprint: 'fp_2' }
const step = (tool: string, result = 'ok') => ({ tool, result })
const LOOKED = [step('log_groups'), step('check_history')]
const NOTHING_THERE = [step('log_groups', 'NOTHING_THERE'), step('check_history', 'NOTHING_THERE')]
const FINISHED: AnalystEnding = { kind: 'finished' }

test.each([
  ['a complete look and its conclusion', [...LOOKED, step('finish')], 'found_nothing', undefined],
  [
    'lines in place of groups',
    [step('read_logs'), step('check_history'), step('finish')],
    'found_nothing',
    undefined,
  ],
  ['no conclusion', LOOKED, 'agent_error', 'NO_CONCLUSION'],
  ['nothing at all', [], 'agent_error', 'NO_CONCLUSION'],
  ['a conclusion without a look', [step('finish')], 'agent_error', 'INCOMPLETE_LOOK'],
  ['no checks read', [step('log_groups'), step('finish')], 'agent_error', 'INCOMPLETE_LOOK'],
  ['no logs read', [step('check_history'), step('finish')], 'agent_error', 'INCOMPLETE_LOOK'],
  [
    'a look that was refused',
    [step('log_groups', 'TOO_SLOW'), step('check_history'), step('finish')],
    'agent_error',
    'INCOMPLETE_LOOK',
  ],
  ['no line and no result of a check', [...NOTHING_THERE, step('finish')], 'agent_error', 'NOTHING_TO_READ'],
  [
    'doubt because there was nothing',
    [...NOTHING_THERE, step('finish', 'UNSURE')],
    'agent_error',
    'NOTHING_TO_READ',
  ],
  ['nothing there, and no conclusion', NOTHING_THERE, 'agent_error', 'NOTHING_TO_READ'],
  [
    'no line, and a check that ran',
    [step('log_groups', 'NOTHING_THERE'), step('check_history'), step('finish')],
    'found_nothing',
    undefined,
  ],
  [
    'lines, and no check that ran',
    [step('log_groups'), step('check_history', 'NOTHING_THERE'), step('finish')],
    'found_nothing',
    undefined,
  ],
  [
    'a day without lines, and then lines',
    [step('log_groups', 'NOTHING_THERE'), step('read_logs'), ...NOTHING_THERE, step('finish')],
    'found_nothing',
    undefined,
  ],
  ['doubt', [...LOOKED, step('finish', 'UNSURE')], 'agent_error', 'UNSURE'],
  ['doubt, and then none', [...LOOKED, step('finish', 'UNSURE'), step('finish')], 'agent_error', 'UNSURE'],
])('finished with %s', (_what, steps, code, reason) => {
  expect(endingOf(FINISHED, NOTHING, steps)).toEqual(reason === undefined ? { code } : { code, reason })
})

test('a proposal comes before a finding, and a finding before every failure', () => {
  const endings: AnalystEnding[] = [
    FINISHED,
    { kind: 'budget_exhausted', reason: 'ALLOWANCE_USED' },
    { kind: 'failed', reason: 'TIME_LIMIT' },
  ]
  for (const ending of endings) {
    expect(endingOf(ending, { proposal: PROPOSAL, finding: FINDING, known: 0 }, [])).toEqual({
      code: 'proposed',
      proposalId: 'pr_1',
      summary: 'Repair it',
      fingerprint: 'fp_2',
    })
    expect(endingOf(ending, { ...NOTHING, finding: FINDING }, [])).toEqual({
      code: 'finding_recorded',
      summary: 'It breaks',
      fingerprint: 'fp_1',
    })
  }
})

test('without any of them it is what the analyst says, and never healthy', () => {
  const steps = [...LOOKED, step('finish')]
  expect(endingOf({ kind: 'failed', reason: 'MODEL_TIMEOUT' }, NOTHING, steps)).toEqual({
    code: 'agent_error',
    reason: 'MODEL_TIMEOUT',
  })
  expect(endingOf({ kind: 'budget_exhausted', reason: 'RUN_CEILING' }, NOTHING, steps)).toEqual({
    code: 'budget_exhausted',
    reason: 'RUN_CEILING',
  })
})

test('what is known already is nothing new after a complete look, and is not said to be nothing', () => {
  const known = { ...NOTHING, known: 1 }
  const onlyKnown = { code: 'found_nothing', reason: 'ONLY_KNOWN' }
  expect(endingOf(FINISHED, known, LOOKED)).toEqual(onlyKnown)
  for (const tool of ['record_finding', 'propose_change']) {
    const steps = [...LOOKED, step(tool, 'DUPLICATE'), step('finish')]
    expect(endingOf(FINISHED, NOTHING, steps)).toEqual(onlyKnown)
  }
  expect(endingOf(FINISHED, known, [])).toEqual({ code: 'agent_error', reason: 'INCOMPLETE_LOOK' })
})
