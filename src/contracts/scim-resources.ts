/** Names, schemas and errors of SCIM 2.0 (RFC 7643 and 7644), as far as they are used. */
import { PAGE_MAX } from './limits.ts'

export const SCIM_TYPE = 'application/scim+json'

const CORE = 'urn:ietf:params:scim:schemas:core:2.0'
const MESSAGE = 'urn:ietf:params:scim:api:messages:2.0'
export const SCIM_URN = {
  user: `${CORE}:User`,
  group: `${CORE}:Group`,
  list: `${MESSAGE}:ListResponse`,
  patch: `${MESSAGE}:PatchOp`,
  error: `${MESSAGE}:Error`,
} as const

/** RFC 7644, table 9. */
export const SCIM_ERROR_TYPES = [
  'invalidFilter',
  'tooMany',
  'uniqueness',
  'mutability',
  'invalidSyntax',
  'invalidPath',
  'noTarget',
  'invalidValue',
] as const
export type ScimErrorType = (typeof SCIM_ERROR_TYPES)[number]

export const SERVICE_PROVIDER_CONFIG = {
  schemas: [`${CORE}:ServiceProviderConfig`],
  patch: { supported: true },
  bulk: { supported: false, maxOperations: 0, maxPayloadSize: 0 },
  filter: { supported: true, maxResults: PAGE_MAX },
  changePassword: { supported: false },
  sort: { supported: false },
  etag: { supported: false },
  authenticationSchemes: [
    {
      type: 'oauthbearertoken',
      name: 'Bearer',
      description: 'The SCIM bearer of the organization',
      primary: true,
    },
  ],
}

export const RESOURCE_TYPES = [
  { name: 'User', endpoint: '/Users', schema: SCIM_URN.user },
  { name: 'Group', endpoint: '/Groups', schema: SCIM_URN.group },
].map(({ name, endpoint, schema }) => ({
  schemas: [`${CORE}:ResourceType`],
  id: name,
  name,
  endpoint,
  schema,
  schemaExtensions: [],
}))

type Attribute = {
  readonly name: string
  readonly type: 'string' | 'boolean' | 'complex' | 'reference'
  readonly required?: boolean
  readonly multiValued?: boolean
  readonly caseExact?: boolean
  readonly mutability?: 'readWrite' | 'readOnly' | 'immutable'
  readonly uniqueness?: 'none' | 'server'
  readonly subAttributes?: readonly Attribute[]
}

const attribute = ({ subAttributes, ...given }: Attribute): object => ({
  multiValued: false,
  required: false,
  mutability: 'readWrite',
  returned: 'default',
  ...(given.type === 'complex' || given.type === 'boolean' ? {} : { caseExact: false, uniqueness: 'none' }),
  ...given,
  ...(subAttributes && { subAttributes: subAttributes.map(attribute) }),
})

export const SCHEMAS = [
  {
    id: SCIM_URN.user,
    name: 'User',
    attributes: [
      { name: 'userName', type: 'string', required: true, uniqueness: 'server' },
      { name: 'externalId', type: 'string', caseExact: true },
      { name: 'displayName', type: 'string' },
      {
        name: 'name',
        type: 'complex',
        subAttributes: [
          { name: 'givenName', type: 'string' },
          { name: 'familyName', type: 'string' },
        ],
      },
      {
        name: 'emails',
        type: 'complex',
        multiValued: true,
        subAttributes: [
          { name: 'value', type: 'string' },
          { name: 'type', type: 'string' },
          { name: 'primary', type: 'boolean' },
        ],
      },
      { name: 'active', type: 'boolean' },
    ],
  },
  {
    id: SCIM_URN.group,
    name: 'Group',
    attributes: [
      { name: 'displayName', type: 'string', required: true, uniqueness: 'server' },
      { name: 'externalId', type: 'string', caseExact: true },
      {
        name: 'members',
        type: 'complex',
        multiValued: true,
        subAttributes: [
          { name: 'value', type: 'string', mutability: 'immutable' },
          { name: 'display', type: 'string', mutability: 'readOnly' },
        ],
      },
    ],
  },
].map(({ attributes, ...schema }) => ({
  schemas: [`${CORE}:Schema`],
  ...schema,
  attributes: (attributes as readonly Attribute[]).map(attribute),
}))
