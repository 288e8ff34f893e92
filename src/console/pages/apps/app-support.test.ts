/** Support staff look at an app; nothing on its pages offers them a change, at whatever level their session is. */
import { expect, test } from 'vitest'
import { signedIn } from '../../../../test/support/console-client.ts'
import { SEEDED_PIPELINE } from '../../../../test/support/fake-app-overview.ts'
import { SEEDED_CHECK } from '../../../../test/support/fake-checks.ts'
import { seed } from '../../../../test/support/fake-gateway.ts'

const SHOP = '/console/apps/shop'

async function supportStaff() {
  const client = await signedIn()
  seed(client.gateway)
  client.gateway.maintenance.turnOn()
  const { data, addOrganization, apps } = client.gateway
  const org = addOrganization('Fabrikam', 'admin')
  data.organizations.pop()
  data.elsewhere.push(org)
  apps.addMySupportSession({ id: org.id, name: org.name, slug: org.slug }).level = 'admin'
  await client.post('/console/support-session', { org_id: org.id, organization: '' })
  // What an admin is to every app.
  apps.data.apps.find(({ alias }) => alias === 'shop')!.my_role = 'administrator'
  return client
}

test.each([
  ['', ['Create a reporting token', 'svc apps push']],
  ['/deployments', ['Roll back', 'name="revision"', 'svc apps push']],
  ['/checks', ['New check', 'Create a check', 'svc apps checks add']],
  [`/checks/${SEEDED_CHECK}`, ['Run now', 'Edit', 'Turn off', 'Add window']],
  ['/maintenance', ['Run now', 'Turn off', 'Turn on']],
  ['/pipelines', ['New pipeline', 'svc apps pipelines add']],
  [`/pipelines/${SEEDED_PIPELINE}`, ['Run now', 'Edit', 'Remove pipeline']],
])('%s offers support staff nothing that answers 403', async (path, offers) => {
  const page = await (await supportStaff()).read(SHOP + path)
  expect(page).toContain('Support session in')
  expect(page).toContain('The shop')
  for (const offer of offers) expect(page).not.toContain(offer)
})
