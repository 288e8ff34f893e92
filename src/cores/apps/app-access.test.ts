import { expect, test } from 'vitest'
import type { Principal } from '../../contracts/operation.ts'
import { requireSourceReader } from './app-access.ts'

test('support staff reads neither source nor logs, whatever an operation forgot to say', async () => {
  const elevated = { userId: 'usr_1', orgId: 'org_1', role: 'admin', supportSessionId: 'sup_1' }
  // Nothing is looked up: whether there is such an app is not told either.
  const asked = requireSourceReader(undefined as never, undefined as never, elevated as Principal, 'shop')
  await expect(asked).rejects.toMatchObject({
    code: 'FORBIDDEN',
    message: 'Support sessions may not do this',
  })
})
