/** What is said after an answer, and of which answers. */
import { expect, test } from 'vitest'
import { svcWith } from '../../test/support/fake-api.ts'

const ENTRY = { id: 'act_1', type: 'function', name: 'whoAmI', user: { id: 'usr_1', name: 'Ada' } }
const FUNCTIONS = 'No function calls match. Questions to data sources: svc activity --type data_source\n'
const QUESTIONS = 'No questions to data sources match. Other calls: svc activity --type function\n'

test.each([
  [[], [], FUNCTIONS],
  [['--outcome', 'failed'], [], FUNCTIONS],
  [['--type', 'function', '--json'], [], FUNCTIONS],
  [['--type', 'data_source'], [], QUESTIONS],
  [['--type', 'all'], [], ''],
  [[], [ENTRY], ''],
])('activity %j, answered with %j, says where else to look: %j', async (options, activity, says) => {
  const { exit, err } = await svcWith({ listActivity: { activity } }, ['activity', ...options], { cwd: '/' })
  expect([exit, err]).toEqual([0, says])
})

const WEAK = 'The answer is weak: probably none of these hits answers the question\n'
const CUT = 'The result was truncated: narrow the question, or request fewer hits with --top-k\n'

test.each([
  [['-o', 'table'], { weak: true, truncated: '3 hits' }, WEAK + CUT],
  [['-o', 'table'], {}, ''],
  // Whoever reads these formats sees both fields.
  [[], { weak: true, truncated: '3 hits' }, ''],
  [['--json'], { weak: true, truncated: '3 hits' }, ''],
])('datasource query %j of %j says what its table does not show: %j', async (options, answer, says) => {
  const argv = ['datasource', 'query', 'db_shop', 'tents', ...options]
  const { exit, err } = await svcWith({ queryDataSource: { count: 0, results: [], ...answer } }, argv, {
    cwd: '/',
  })
  expect([exit, err]).toEqual([0, says])
})
