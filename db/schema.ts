/** Every table of the control plane. The `vector` type stays out of it: only managed databases hold vectors. */
export * from './tables/apps.ts'
export * from './tables/connector.ts'
export * from './tables/data-sources.ts'
export * from './tables/identity.ts'
export * from './tables/notifications.ts'
export * from './tables/operations.ts'
export * from './tables/organizations.ts'
export * from './tables/sign-in.ts'
