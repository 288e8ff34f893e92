/** A new value in the same row: its issuer and the people stay. */
import { scimBearers } from '../../../db/schema.ts'
import { notFound } from '../../contracts/errors.ts'
import { makeScimBearer, scimBearerHash, scimBearerPrefix } from '../../trust/scim-bearer.ts'
import { readKeyEpoch } from '../key-epoch.ts'
import { endOfOverlap, rotatedEnding, rotatedOut } from '../previous-value.ts'
import { recordEnding } from '../record-ending.ts'
import { write, type Verb } from '../verb.ts'
import { baseUrl, bearerName, bearerOf, presentBearer } from './bearer-rows.ts'
import type { ScimDeps } from './dependencies.ts'

export const rotateScimBearer: Verb<'rotateScimBearer', ScimDeps> = write(
  { author: 'owner', audit: 'scim.rotated' },
  async ({ tx, clock, orgId, userId, audit, issuer }, { overlap_hours }) => {
    const [before] = await tx.select().from(scimBearers).where(bearerOf(orgId)).for('no key update')
    if (!before) throw notFound()
    const keyEpoch = await readKeyEpoch(tx)
    const token = makeScimBearer()
    const now = clock()
    // A value of other secrets has ended, and the new row must not bring it back.
    const overlap = before.keyEpoch === keyEpoch ? overlap_hours : 0
    const values = {
      ...rotatedOut(before, endOfOverlap(now, overlap)),
      secretHash: scimBearerHash(token),
      startsWith: scimBearerPrefix(token),
      keyEpoch,
    }
    const [row] = await tx
      .update(scimBearers)
      .set({ ...values, rotatedBy: userId, rotatedAt: now })
      .where(bearerOf(orgId))
      .returning()
    recordEnding(tx, 'scim_bearer_rotated', [rotatedEnding(before, values)])
    await audit('scim.rotated', bearerName(row!))
    return { ...presentBearer(row!, now), base_url: baseUrl(issuer), token }
  },
)
