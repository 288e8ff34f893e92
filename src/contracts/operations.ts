/** Every operation, and the types of what does it: the services, OpenAPI, the client and the tests read them here. */
import type * as z from 'zod'
import { OPERATIONS } from './all-operations.ts'
import type { Operation, OperationService, Principal } from './operation.ts'

export { OPERATIONS }

type Listed = (typeof OPERATIONS)[number]
export type OperationName = Listed['name']
type OperationNamed<Name extends OperationName> = Extract<Listed, { name: Name }>
/** What a client sends, and what it gets. */
export type Input<Name extends OperationName> = z.input<OperationNamed<Name>['input']>
export type Output<Name extends OperationName> = z.output<OperationNamed<Name>['output']>

/** What does an operation, for one principal at a time. */
export type Handler<Name extends OperationName> =
  OperationNamed<Name> extends Operation<infer I, infer O>
    ? (principal: Principal, input: z.output<I>) => Promise<z.input<O>>
    : never

/** The verb of every operation of a service: one that is missing, or does not fit its operation, does not compile. */
export type Verbs<Service extends OperationService, Deps> = {
  readonly [Name in Extract<Listed, { service: Service }>['name']]: (deps: Deps) => Handler<Name>
}
