/** SCIM 2.0 (RFC 7644): where the directory of an organization provisions people and groups. */
import { declareDurability } from '../db/current-call.ts'
import { notFound, ERRORS, ServiceError } from '../src/contracts/errors.ts'
import { SCIM_BODY_MAX_BYTES } from '../src/contracts/limits.ts'
import { mediaType } from '../src/contracts/media-types.ts'
import {
  RESOURCE_TYPES,
  SCHEMAS,
  SCIM_TYPE,
  SCIM_URN,
  SERVICE_PROVIDER_CONFIG,
} from '../src/contracts/scim-resources.ts'
import { SCIM_PATH } from '../src/contracts/scim.ts'
import * as scim from '../src/cores/scim/index.ts'
import { bearerOf } from '../src/http/authenticate.ts'
import type { HttpContext } from '../src/http/context.ts'
import { readBytes } from '../src/http/read-body.ts'
import type { ServiceApp } from '../src/http/service-app.ts'
import { answerBelongsTo, untilMayAnswer, whoseOf } from '../src/trust/open-answers.ts'
import type { AuthDeps } from './dependencies.ts'

type Call = {
  readonly c: HttpContext
  readonly deps: AuthDeps
  readonly bearer: scim.ScimPrincipal
  readonly base: string
  readonly id: string
  readonly asked: scim.Asked
  readonly body: () => Promise<unknown>
}
type Answer = { readonly status?: 200 | 201 | 204; readonly body?: object; readonly location?: string }
type Endpoint = (call: Call) => Promise<Answer>
type Method = 'get' | 'post' | 'put' | 'patch' | 'delete'

const listOf = (resources: readonly object[]) => ({
  schemas: [SCIM_URN.list],
  totalResults: resources.length,
  startIndex: 1,
  itemsPerPage: resources.length,
  Resources: resources,
})

const located = (resource: { readonly id: string }, kind: string, base: string) => ({
  ...resource,
  meta: { resourceType: kind, location: `${base}/${kind}s/${resource.id}` },
})

function oneOf(resources: readonly { readonly id: string }[], { id, base }: Call, kind: string): object {
  const found = resources.find((one) => one.id.toLowerCase() === id.toLowerCase())
  if (!found) throw notFound()
  return located(found, kind, base)
}

/** A person who was created or changed, as stored. */
const person = async ({ base }: Call, row: Promise<Parameters<typeof scim.presentPerson>[0]>) =>
  scim.presentPerson(await row, base)

const group = async (call: Call, id: Promise<string>) =>
  scim.showScimGroup(call.deps)(call.bearer, await id, call.base, call.asked.withMembers)

const created = <Body extends { readonly meta: { readonly location: string } }>(body: Body): Answer => ({
  status: 201,
  body,
  location: body.meta.location,
})

/** Every endpoint. Names of paths are exact, as those of all others here. */
const ENDPOINTS: readonly [Method, string, Endpoint][] = [
  ['get', '/ServiceProviderConfig', async () => ({ body: SERVICE_PROVIDER_CONFIG })],
  [
    'get',
    '/ResourceTypes',
    async ({ base }) => ({ body: listOf(RESOURCE_TYPES.map((one) => located(one, 'ResourceType', base))) }),
  ],
  ['get', '/ResourceTypes/:id', async (call) => ({ body: oneOf(RESOURCE_TYPES, call, 'ResourceType') })],
  [
    'get',
    '/Schemas',
    async ({ base }) => ({ body: listOf(SCHEMAS.map((one) => located(one, 'Schema', base))) }),
  ],
  ['get', '/Schemas/:id', async (call) => ({ body: oneOf(SCHEMAS, call, 'Schema') })],
  [
    'get',
    '/Users',
    async ({ deps, bearer, asked, base }) => ({ body: await scim.listPeople(deps)(bearer, asked, base) }),
  ],
  [
    'post',
    '/Users',
    async (call) => created(await person(call, scim.createPerson(call.deps)(call.bearer, await call.body()))),
  ],
  [
    'get',
    '/Users/:id',
    async ({ deps, bearer, id, base }) => ({ body: await scim.showPerson(deps)(bearer, id, base) }),
  ],
  [
    'put',
    '/Users/:id',
    async (call) => ({
      body: await person(call, scim.replacePerson(call.deps)(call.bearer, call.id, await call.body())),
    }),
  ],
  [
    'patch',
    '/Users/:id',
    async (call) => ({
      body: await person(call, scim.patchPerson(call.deps)(call.bearer, call.id, await call.body())),
    }),
  ],
  [
    'delete',
    '/Users/:id',
    async ({ deps, bearer, id }) => {
      await scim.deletePerson(deps)(bearer, id)
      return { status: 204 }
    },
  ],
  [
    'get',
    '/Groups',
    async ({ deps, bearer, asked, base }) => ({ body: await scim.listScimGroups(deps)(bearer, asked, base) }),
  ],
  [
    'post',
    '/Groups',
    async (call) =>
      created(await group(call, scim.createProvisionedGroup(call.deps)(call.bearer, await call.body()))),
  ],
  [
    'get',
    '/Groups/:id',
    async ({ deps, bearer, id, base, asked }) => ({
      body: await scim.showScimGroup(deps)(bearer, id, base, asked.withMembers),
    }),
  ],
  [
    'put',
    '/Groups/:id',
    async (call) => ({
      body: await group(call, scim.replaceGroup(call.deps)(call.bearer, call.id, await call.body())),
    }),
  ],
  [
    'patch',
    '/Groups/:id',
    async ({ deps, bearer, id, body }) => {
      // Without the group, which may have thousands of members: both directories take that.
      await scim.patchGroup(deps)(bearer, id, await body())
      return { status: 204 }
    },
  ],
  [
    'delete',
    '/Groups/:id',
    async ({ deps, bearer, id }) => {
      await scim.deleteProvisionedGroup(deps)(bearer, id)
      return { status: 204 }
    },
  ],
]

export function mountScim(app: ServiceApp, deps: AuthDeps): void {
  const validate = scim.validateScimBearer(deps)
  const base = scim.baseUrl(deps.issuer)
  for (const [method, path, endpoint] of ENDPOINTS) {
    app.on(method.toUpperCase(), SCIM_PATH + path, (c) =>
      answering(c, `scim ${method} ${path}`, async () => {
        declareDurability(method === 'get' ? 'local' : 'standby')
        const from = { requestId: c.get('requestId'), address: c.get('address') }
        await untilMayAnswer()
        const bearer = await validate(bearerOf(c), from)
        c.set('identity', bearer.tokenId)
        answerBelongsTo(whoseOf(bearer))
        const id = c.req.param('id') ?? ''
        return endpoint({ c, deps, bearer, base, id, asked: askedOf(c), body: () => readBody(c) })
      }),
    )
  }
  app.all(`${SCIM_PATH}/*`, (c) =>
    answering(c, 'scim', async () => {
      await validate(bearerOf(c), { requestId: c.get('requestId'), address: c.get('address') })
      throw notFound()
    }),
  )
}

function askedOf(c: HttpContext): scim.Asked {
  const excluded = (c.req.query('excludedAttributes') ?? '').toLowerCase().split(',')
  return {
    filter: c.req.query('filter'),
    startIndex: c.req.query('startIndex'),
    count: c.req.query('count'),
    withMembers: !excluded.some((name) => name.trim() === 'members'),
  }
}

async function readBody(c: HttpContext): Promise<unknown> {
  const type = mediaType(c.req.raw.headers.get('content-type'))
  if (type !== SCIM_TYPE && type !== 'application/json')
    throw new scim.ScimError('invalidSyntax', `The body must be ${SCIM_TYPE}`)
  const bytes = await readBytes(c.req.raw, SCIM_BODY_MAX_BYTES, { deadline: c.get('deadline') })
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    throw new scim.ScimError('invalidSyntax', 'The body is not valid JSON')
  }
}

async function answering(c: HttpContext, route: string, work: () => Promise<Answer>): Promise<Response> {
  c.set('route', route)
  c.header('cache-control', 'no-store')
  try {
    const { status = 200, body, location } = await work()
    if (location !== undefined) c.header('location', location)
    if (status === 204 || body === undefined) return c.body(null, 204)
    return c.body(JSON.stringify(body), status, { 'content-type': `${SCIM_TYPE}; charset=utf-8` })
  } catch (error) {
    return refuse(c, error)
  }
}

/** RFC 7644, 3.12. What went wrong inside is in the log only. */
function refuse(c: HttpContext, error: unknown): Response {
  c.set('failure', error)
  const known = error instanceof ServiceError ? error : new ServiceError('UNEXPECTED')
  const { status } = ERRORS[known.code]
  if (status === 401) c.header('www-authenticate', 'Bearer')
  if (known.retryAfterSeconds !== undefined) c.header('retry-after', String(known.retryAfterSeconds))
  const body = {
    schemas: [SCIM_URN.error],
    status: String(status),
    ...(known instanceof scim.ScimError && { scimType: known.scimType }),
    detail: known.message,
  }
  return c.body(JSON.stringify(body), status, { 'content-type': `${SCIM_TYPE}; charset=utf-8` })
}
