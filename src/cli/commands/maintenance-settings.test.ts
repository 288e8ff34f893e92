/** `svc apps maintenance settings` shows the settings of the organization of the login, and changes what is given. */
import { expect, test } from 'vitest'
import { svcWith } from '../../../test/support/fake-api.ts'

const SETTINGS = {
  enabled: true,
  model: null,
  models: [{ name: 'rules', proposes: false }],
  nightly_cron: '0 3 * * *',
  timezone: 'Europe/Vienna',
  next_run_at: null,
  cooldown_hours: 0,
  token_allowance: 5000,
  protected_paths: ['src/a/**', 'src/b/**'],
  allowed_classes: [],
  mcp_decisions: 'link',
  apps_enabled: 2,
  you_decide_from: null,
}
const settings = (options: string[], answer: object = SETTINGS) =>
  svcWith(
    {
      whoAmI: { organization: { id: 'org_1' } },
      showMaintenanceSettings: SETTINGS,
      updateMaintenanceSettings: answer,
    },
    ['apps', 'maintenance', 'settings', ...options],
    { cwd: '/' },
  )

test('without options they are shown, and nothing is changed', async () => {
  const { exit, out, sent } = await settings([])
  expect([exit, Object.keys(sent)]).toEqual([0, ['whoAmI', 'showMaintenanceSettings']])
  expect(sent.showMaintenanceSettings!.url).toBe('/api/deploy/orgs/org_1/maintenance-agent')
  const lines = out.trimEnd().split('\n')
  expect(lines.map((line) => line.split(/: +/))).toEqual([
    ['enabled', 'yes'],
    ['model', 'none'],
    ['models to choose', 'rules'],
    ['cadence', '0 3 * * * (Europe/Vienna)'],
    ['next run', '-'],
    ['cool-down', '0 h'],
    ['tokens a day', '5000'],
    ['protected paths', 'src/a/**, src/b/**'],
    ['open to proposals', 'none'],
    ['decisions of agents', 'link'],
    ['apps on', '2'],
  ])
})

test.each([
  [
    ['--enable', '--model', 'rules', '--cron', '0 4 * * *', '--timezone', 'UTC'],
    { enabled: true, model: 'rules', nightly_cron: '0 4 * * *', timezone: 'UTC' },
  ],
  [
    ['--cooldown', '0', '--tokens', '9', '--no-protect', '--allow', 'ci', '--allow', 'build'],
    { cooldown_hours: 0, token_allowance: 9, protected_paths: [], allowed_classes: ['ci', 'build'] },
  ],
  [['--disable', '--yes', '--protect', 'src/**'], { enabled: false, protected_paths: ['src/**'] }],
])('%j changes this alone', async (options, body) => {
  const { exit, sent } = await settings(options)
  expect([exit, sent.updateMaintenanceSettings]).toEqual([
    0,
    { url: '/api/deploy/orgs/org_1/maintenance-agent', body },
  ])
})

test.each([
  [['--enable', '--disable'], '--enable conflicts with --disable'],
  [['--protect', 'a', '--no-protect'], '--no-protect conflicts with --protect'],
  [['--allow', 'all'], 'Must be one of: ci, '],
  [['--cooldown', '721'], 'Must be a whole number from 0 to 720'],
  [['--disable'], 'This turns the maintenance agent off for every app, and stops what runs.'],
])('%j is refused, and nothing is changed', async (options, says) => {
  const { exit, err, sent } = await settings(options)
  expect([exit, err, sent.updateMaintenanceSettings]).toEqual([5, expect.stringContaining(says), undefined])
})

test('whoever changed what decides is told until when another admin approves', async () => {
  const until = '2026-11-16T00:00:00.000Z'
  const { err } = await settings(['--tokens', '1'], { ...SETTINGS, you_decide_from: until })
  expect(err).toBe(`You changed something: what runs propose until ${until}, another admin approves.\n`)
})
