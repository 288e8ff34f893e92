import { describe, expect, test } from 'vitest'
import { PIPELINE_TROUBLES } from '../../contracts/pipeline-states.ts'
import { changeTrouble, type RunOutcome, type TroubleState } from './pipeline-trouble.ts'

const WELL: TroubleState = { trouble: null, told: [] }

/** The last words of the events that these outcomes cause, one after the other; a dash where none. */
function eventsOf(outcomes: readonly RunOutcome[]): string[] {
  let state = WELL
  return outcomes.map((outcome) => {
    const change = changeTrouble(state, outcome)
    state = change ?? state
    return change?.event?.replace('pipeline.run.', '') ?? '-'
  })
}

describe('events follow transitions', () => {
  test.each<[string, readonly RunOutcome[], readonly string[]]>([
    ['all is well', ['succeeded', 'succeeded'], ['-', '-']],
    ['failing nightly', ['failed', 'failed', 'failed', 'succeeded'], ['failed', '-', '-', 'recovered']],
    [
      'offline for a week',
      Array<RunOutcome>(7).fill('host_offline'),
      ['host_offline', ...Array(6).fill('-')],
    ],
    ['missed twice', ['missed', 'missed', 'succeeded', 'succeeded'], ['missed', '-', 'recovered', '-']],
    [
      'flapping',
      ['failed', 'succeeded', 'failed', 'succeeded'],
      ['failed', 'recovered', 'failed', 'recovered'],
    ],
    ['another trouble', ['host_offline', 'failed', 'succeeded'], ['host_offline', '-', 'recovered']],
    ['one worker, called twice', ['missed', 'host_offline', 'missed'], ['missed', '-', '-']],
    [
      'two troubles by turns',
      ['failed', 'host_offline', 'failed', 'host_offline', 'succeeded', 'failed'],
      ['failed', '-', '-', '-', 'recovered', 'failed'],
    ],
  ])('%s', (_, outcomes, events) => {
    expect(eventsOf(outcomes)).toEqual(events)
  })

  test.each(PIPELINE_TROUBLES)(
    'the trouble that is shown is the last one, also if %s was told before',
    (trouble) => {
      const told = [...PIPELINE_TROUBLES]
      expect(changeTrouble({ trouble: null, told }, trouble)).toEqual({ trouble, told, event: null })
      expect(changeTrouble({ trouble, told }, trouble)).toBeUndefined()
    },
  )
})
