/**
 * How much of a form is read. Two forms take files, which are held in memory as a whole: they are read only for somebody who
 * may load one, and a few at a time, of each person one. The listener ends a request that is not there within a minute.
 */
import type { Next } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { byteSize } from '../contracts/byte-size.ts'
import { ServiceError } from '../contracts/errors.ts'
import { FAIR_QUEUES } from '../contracts/fair-queues.ts'
import { BODY_MAX_BYTES, LOAD_FORM_BYTES } from '../contracts/limits.ts'
import { listOrganizations } from '../contracts/organizations.ts'
import { whoAmI } from '../contracts/people.ts'
import { atLeast, type Role } from '../contracts/roles.ts'
import { createTurns } from '../cores/work/turns.ts'
import type { PageContext } from './context.ts'
import { readSessionToken } from './cookies.ts'
import { clientFor } from './session.ts'
import { rememberedOrganization } from './support-session.ts'

export function limitBody(isUpload: (path: string) => boolean) {
  const limitForm = bodyLimit({
    maxSize: BODY_MAX_BYTES,
    onError: () => {
      throw new ServiceError('TOO_LARGE')
    },
  })
  const limitUpload = bodyLimit({
    maxSize: LOAD_FORM_BYTES + BODY_MAX_BYTES,
    onError: () => {
      throw new ServiceError('TOO_LARGE', `A file can be uploaded here up to ${byteSize(LOAD_FORM_BYTES)}`, {
        hint: 'Larger ones are sent by the client: svc db load, svc docs sync.',
      })
    },
  })
  const uploads = createTurns(FAIR_QUEUES.consoleUploads)
  const uploaders = createTurns(FAIR_QUEUES.consoleUploaders)
  return async function limitBodies(c: PageContext, next: Next): Promise<Response | void> {
    if (!isUpload(c.req.path) || c.req.method !== 'POST') return limitForm(c, next)
    const { person, organization } = await requireUploader(c)
    const upload = async () => limitUpload(c, next)
    return uploaders.take([person], () => uploads.take([organization], upload))
  }
}

type Uploader = { readonly person: string; readonly organization: string }

/**
 * Which organization the file is for stands in the form. Before that is read it is enough to be a developer somewhere;
 * the page itself asks again.
 */
async function requireUploader(c: PageContext): Promise<Uploader> {
  const token = readSessionToken(c)
  if (token === undefined) throw new ServiceError('UNAUTHENTICATED')
  const call = clientFor(c, token, { organization: rememberedOrganization(c) })
  const [{ user, organization, role }, { organizations }] = await Promise.all([
    call(whoAmI, {}),
    call(listOrganizations, {}),
  ])
  const roles = [role, ...organizations.map((one) => one.role)]
  if (!roles.some((one: Role | null) => one !== null && atLeast(one, 'developer'))) {
    throw new ServiceError('FORBIDDEN', 'Only developers, admins and owners can load files')
  }
  return { person: user.id, organization: organization?.id ?? user.id }
}
