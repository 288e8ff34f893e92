import { expect, test } from 'vitest'
import { svcWith } from '../../../test/support/fake-api.ts'

const EVIL = 'x\u001b]52;c;cm0gLXJm\u0007'
const SHOWN = String.raw`x\u001b]52;c;cm0gLXJm\u0007`

/** Threat: what stands in somebody's database reaches the terminal as commands. */
test('what the server says of a database is shown, not executed', async () => {
  const health = { checked_at: null, last_error: null, problems: [{ text: `column ${EVIL} is missing` }] }
  const answers = { showDataSource: { source_id: 'db_shop', health }, showConnectionString: { url: EVIL } }
  const shown = await svcWith(answers, ['db', 'show', 'shop'], { cwd: '/' })
  expect(shown.err).toBe(`column ${SHOWN} is missing\n`)
  const connection = await svcWith(answers, ['db', 'connect', 'shop', '--quiet'], { cwd: '/' })
  expect(connection.out).toBe(`${SHOWN}\n`)
})

const SHOP = {
  source_id: 'db_shop',
  name: 'shop',
  description: null,
  kind: 'attached',
  ready: true,
  enabled: false,
  exposed: false,
  minimum_role: 'viewer',
  health: {
    checked_at: '2026-11-15T00:00:00.000Z',
    problems: [{ text: 'No vectors' }, { text: 'No index' }],
    last_error: { at: '2026-11-14T00:00:00.000Z', kind: 'unreachable', cause: 'refused' },
  },
}

test('a database is shown by its name, with each of its problems where a table has only their number', async () => {
  const show = (...more: string[]) =>
    svcWith({ showDataSource: SHOP }, ['db', 'show', 'shop', ...more], { cwd: '/' })
  const { out, err, sent } = await show()
  expect(sent.showDataSource!.url).toBe('/api/wf/data-sources/db_shop')
  expect(err).toBe('No vectors\nNo index\n')
  const lines = out.trimEnd().split('\n')
  expect(lines.map((line) => line.split(/: +/))).toEqual([
    ['id', 'db_shop'],
    ['name', 'shop'],
    ['description', '-'],
    ['kind', 'attached'],
    ['ready', 'yes'],
    ['enabled', 'no'],
    ['exposed', 'no'],
    ['minimum role', 'viewer'],
    ['health', '2 problems'],
    ['checked', '2026-11-15T00:00:00.000Z'],
    ['last error', '2026-11-14T00:00:00.000Z refused'],
  ])
  const json = await show('--json')
  expect([JSON.parse(json.out), json.err]).toEqual([SHOP, ''])
})

test('a database is removed when that is confirmed, and by its name', async () => {
  const remove = (...more: string[]) =>
    svcWith({ removeDatabase: {} }, ['db', 'remove', 'shop', ...more], { cwd: '/' })
  const asked = await remove()
  expect([asked.exit, asked.err, asked.sent]).toEqual([5, expect.stringContaining('Add --yes'), {}])
  const done = await remove('--yes')
  expect([done.exit, done.err]).toEqual([0, 'Removed shop\n'])
  expect(done.sent.removeDatabase!.url).toMatch(/\/shop\?confirm=shop$/)
})

test.each([
  ['shop\n', 0, 'Removed shop'],
  ['y\n', 5, 'Canceled; nothing was changed'],
])('at a terminal its name has to be typed: %j', async (stdin, wanted, says) => {
  const { exit, err } = await svcWith({ removeDatabase: {} }, ['db', 'remove', 'shop'], {
    cwd: '/',
    terminal: true,
    stdin,
  })
  expect([exit, err]).toEqual([wanted, expect.stringContaining('Type shop to confirm')])
  expect(err).toContain('This deletes database shop and all its data')
  expect(err).toContain(says)
})
