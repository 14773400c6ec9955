import type { ConnectionLike } from '@temporalio/client'
import proto from '@temporalio/proto'
import type { Logger } from 'pino'
import { searchAttributes } from '../../workflows/search-attributes.ts'
import { grpcCode, grpcCodes, isDenied } from './grpc-code.ts'

const keyword = proto.temporal.api.enums.v1.IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD
const names = Object.values(searchAttributes).map(({ name }) => name)

/** What a namespace knows of the search attributes that lifecycles have. */
export type Attributes =
  | { readonly kind: 'known'; readonly missing: readonly string[]; readonly wrong: readonly string[] }
  /** The caller may not ask; a query over all of them was accepted, so they are there. */
  | { readonly kind: 'usable' }
  /** The caller may not ask, and a query over all of them was refused with this text. */
  | { readonly kind: 'unusable'; readonly message: string }

type Services = Pick<ConnectionLike, 'operatorService' | 'workflowService'>

/** The command that makes search attributes, for who may. */
export function attributeCommand(missing: readonly string[], namespace: string): string {
  return `temporal operator search-attribute create ${missing.map((name) => `--name ${name} --type Keyword`).join(' ')} --namespace ${namespace}`
}

/** Reads which search attributes the namespace has. Errors: what Temporal says, other than that this is denied. */
export async function readAttributes(connection: Services, namespace: string): Promise<Attributes> {
  try {
    const { customAttributes: types } = await connection.operatorService.listSearchAttributes({ namespace })
    return {
      kind: 'known',
      missing: names.filter((name) => types[name] === undefined),
      wrong: names.filter((name) => types[name] !== undefined && types[name] !== keyword),
    }
  } catch (error) {
    if (!isWithheld(error)) throw error
  }
  try {
    const query = names.map((name) => `${name} = 'x'`).join(' AND ')
    await connection.workflowService.countWorkflowExecutions({ namespace, query })
    return { kind: 'usable' }
  } catch (error) {
    if (grpcCode(error) !== grpcCodes.invalidArgument) throw error
    return { kind: 'unusable', message: (error as Error).message }
  }
}

interface AttributesInput {
  readonly connection: Services
  readonly namespace: string
  readonly log: Logger
}

/** Whether lifecycles can have search attributes; otherwise why not, with the remedy. */
export type AttributeUse = { readonly kind: 'usable' } | { readonly kind: 'unusable'; readonly problem: string }

/**
 * Sees to the search attributes of lifecycles. Where they are not there and cannot be made, lifecycles run without: only lists in Temporal show less.
 * Errors: what Temporal says when it does not answer.
 */
export async function ensureAttributes({ connection, namespace, log }: AttributesInput): Promise<AttributeUse> {
  const found = await readAttributes(connection, namespace)
  if (found.kind === 'usable') return found
  const unusable = (problem: string): AttributeUse => ({
    kind: 'unusable',
    problem: `Temporal's namespace "${namespace}" ${problem}`,
  })
  if (found.kind === 'unusable')
    return unusable(
      `lacks search attributes, and Joiner may not list them (${found.message}); an administrator runs: ${attributeCommand(names, namespace)}`,
    )
  if (found.wrong.length > 0)
    return unusable(
      `has search attributes of another type than Keyword: ${found.wrong.join(', ')}; set temporal.namespace to a namespace of Joiner's own`,
    )
  if (found.missing.length === 0) return { kind: 'usable' }
  try {
    await connection.operatorService.addSearchAttributes({
      namespace,
      searchAttributes: Object.fromEntries(found.missing.map((name) => [name, keyword])),
    })
    log.info({ searchAttributes: found.missing }, 'registered search attributes')
    return { kind: 'usable' }
  } catch (error) {
    const lacks = `lacks the search attributes ${found.missing.join(', ')}`
    const command = attributeCommand(found.missing, namespace)
    if (isWithheld(error)) return unusable(`${lacks}, and Joiner may not make them; an administrator runs: ${command}`)
    if (!isRefused(error)) throw error
    return unusable(
      `${lacks}, and Temporal refuses to make them (${(error as Error).message}): a visibility store of SQL has 10 places for Keyword attributes of all namespaces; remove some that nobody uses (temporal operator search-attribute remove), then run: ${command}`,
    )
  }
}

/** Whether Temporal said no, for example since its store is full; anything else may be over at the next try. */
function isRefused(error: unknown): boolean {
  const { invalidArgument, failedPrecondition, resourceExhausted } = grpcCodes
  return [invalidArgument, failedPrecondition, resourceExhausted].some((code) => code === grpcCode(error))
}

/** Whether this caller cannot have what it asks for. Temporal Cloud has no OperatorService. */
function isWithheld(error: unknown): boolean {
  return isDenied(error) || grpcCode(error) === grpcCodes.unimplemented
}
