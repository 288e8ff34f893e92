/** The catalog of events: those of the contract, each with a link that leads to the thing itself. */
import { describe, expect, test } from 'vitest'
import { EVENT_TYPES, EVENTS } from './events.ts'

/** interface.md, Events. */
const PROMISED = [
  'support.ticket.created',
  'support.ticket.replied',
  'support.ticket.status_changed',
  'deploy.failed',
  'application.check.failed',
  'application.check.error',
  'application.check.indeterminate',
  'application.check.recovered',
  'application.maintenance.run.completed',
  'application.maintenance.run.failed',
  'application.maintenance.proposal.created',
  'application.maintenance.proposal.approved',
  'application.maintenance.proposal.denied',
  'pipeline.run.failed',
  'pipeline.run.recovered',
  'pipeline.run.host_offline',
  'pipeline.run.missed',
  'org.support_access.started',
  'org.support_access.elevated',
] as const

test('has the nineteen of the contract', () => {
  expect(PROMISED).toHaveLength(19)
  expect(EVENT_TYPES).toEqual(expect.arrayContaining([...PROMISED]))
})

describe.each(EVENT_TYPES)('%s', (type) => {
  const { page, data, status } = EVENTS[type]
  const isRequired = (name: string) => data.shape[name]?.safeParse(undefined).success === false

  test('its link is made of what it always carries', () => {
    const names = [...page.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)
    expect(names.filter((name) => name !== 'app' && !isRequired(name))).toEqual([])
  })

  test('its status is fixed, or a field', () => {
    expect('is' in status || status.from in data.shape).toBe(true)
  })
})

test.each([
  ['deploy.failed', 'apps/{app}/deployments/{deployment_id}'],
  ['application.check.failed', 'apps/{app}/incidents/{check_id}'],
  ['application.check.error', 'apps/{app}/checks/{check_id}'],
  ['application.check.indeterminate', 'apps/{app}/checks/{check_id}'],
  ['application.check.recovered', 'apps/{app}/checks/{check_id}'],
  ['pipeline.run.failed', 'apps/{app}/pipelines/{pipeline_id}'],
  ['pipeline.run.recovered', 'apps/{app}/pipelines/{pipeline_id}'],
  ['pipeline.run.host_offline', 'apps/{app}/pipelines/{pipeline_id}'],
  ['pipeline.run.missed', 'apps/{app}/pipelines/{pipeline_id}'],
] as const)('%s leads to %s', (type, page) => {
  expect(EVENTS[type].page).toBe(page)
})

test('a failed deployment says why by a code, and nothing that a person wrote', () => {
  const { data } = EVENTS['deploy.failed']
  expect(data.safeParse({ deployment_id: 'dep_1', code: 'BUILD_FAILED' }).success).toBe(true)
  expect(data.safeParse({ deployment_id: 'dep_1' }).success).toBe(false)
  expect(data.safeParse({ deployment_id: 'dep_1', code: 'It broke: no space' }).success).toBe(false)
  expect(data.safeParse({ deployment_id: 'dep_1', code: 'X', output: 'x' }).success).toBe(false)
})
