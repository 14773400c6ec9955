import { allocationMessage } from '../catalogue/capacity-pools.ts'
import { ArmError, type ArmErrorMore } from '../server/arm-error.ts'
import type { SimulatorConfig } from '../server/config.ts'
import type { Attempt } from './faults.ts'

/** A refusal that is asked for; what is not said follows from its code. */
interface Wanted {
  readonly code: string
  readonly message?: string
  readonly target?: string
  readonly status?: number
}

interface Refused {
  readonly method: string
  /** Path of the request, without its query. */
  readonly path: string
  readonly attempt: Attempt | undefined
}

interface Words {
  readonly status: number
  readonly message: string
  readonly more?: ArmErrorMore
}

type Config = Pick<SimulatorConfig, 'subscriptionId' | 'clientId' | 'location'> & { readonly objectId?: string }

/** The refusal as Azure gives it: with status, words and further information of codes that are known. */
export function refusalOf(wanted: Wanted, refused: Refused, config: Config): ArmError {
  const words = knownWords(wanted.code, refused, config)
  const { target } = wanted
  return new ArmError(wanted.status ?? words.status, wanted.code, wanted.message ?? words.message).with({
    ...words.more,
    ...(target === undefined ? {} : { target }),
  })
}

function knownWords(code: string, refused: Refused, config: Config): Words {
  const { subscriptionId, clientId, location, objectId = clientId } = config
  const { path } = refused
  switch (code) {
    case 'AuthorizationFailed':
      return {
        status: 403,
        message: `The client '${clientId}' with object id '${objectId}' does not have authorization to perform action '${actionOf(refused)}' over scope '${path}' or the scope is invalid. If access was recently granted, please refresh your credentials.`,
      }
    case 'LinkedAuthorizationFailed':
      return {
        status: 403,
        message: `The client '${clientId}' with object id '${objectId}' has permission to perform action '${actionOf(refused)}' on scope '${path}'; however, it does not have permission to perform action(s) 'Microsoft.Network/virtualNetworks/subnets/join/action' on the linked scope(s).`,
      }
    case 'RequestDisallowedByPolicy':
      return policyWords(refused, subscriptionId)
    case 'MissingSubscriptionRegistration':
      return {
        status: 409,
        message: `The subscription is not registered to use namespace '${actionOf(refused).split('/')[0]}'. See https://aka.ms/rps-not-found for how to register subscriptions.`,
      }
    case 'InternalExecutionError':
    case 'InternalServerError':
      return { status: 500, message: 'An internal execution error occurred. Please retry later.' }
    case 'Conflict':
    case 'AnotherOperationInProgress':
      return {
        status: 409,
        message: `Another operation on this or dependent resource is in progress: '${path}'. Please retry later.`,
      }
    case 'ResourceGroupBeingDeleted':
      return {
        status: 409,
        message: `The resource group of '${path}' is in deprovisioning state and cannot perform this operation.`,
      }
    default:
      return { status: 409, message: allocationMessage(code, refused.attempt?.sku ?? '', location) }
  }
}

/** `Microsoft.Compute/virtualMachines/extensions/write`. What is about a resource's roles names the provider of roles last; without a provider it is ARM's own. */
export function actionOf({ method, path }: Refused): string {
  const [, provider = 'Microsoft.Resources', rest = path.slice(1)] = /^.*\/providers\/([^/]+)\/(.*)$/i.exec(path) ?? []
  const types = rest.split('/').filter((_part, index) => index % 2 === 0)
  const verbs: Readonly<Record<string, string>> = { GET: 'read', DELETE: 'delete', POST: 'action' }
  return [provider, ...types, verbs[method] ?? 'write'].join('/')
}

/** https://learn.microsoft.com/azure/governance/policy/overview; `info` as the service sends it. */
function policyWords({ path, attempt }: Refused, subscriptionId: string): Words {
  const name = path.slice(path.lastIndexOf('/') + 1)
  const authorization = `/subscriptions/${subscriptionId}/providers/Microsoft.Authorization`
  const assignment = {
    name: 'Allowed virtual machine sizes',
    id: `${authorization}/policyAssignments/allowed-vm-sizes`,
  }
  const definition = {
    name: 'Allowed virtual machine size SKUs',
    id: `${authorization}/policyDefinitions/allowed-vm-sizes`,
  }
  const identifiers = JSON.stringify([{ policyAssignment: assignment, policyDefinition: definition }])
  const expression = {
    result: 'False',
    expressionKind: 'Field',
    expression: 'Microsoft.Compute/virtualMachines/sku.name',
    path: 'properties.hardwareProfile.vmSize',
    expressionValue: attempt?.sku ?? '',
    operator: 'In',
  }
  const info = {
    policyDefinitionDisplayName: definition.name,
    policyDefinitionId: definition.id,
    policyDefinitionName: 'allowed-vm-sizes',
    policyDefinitionEffect: 'deny',
    policyAssignmentDisplayName: assignment.name,
    policyAssignmentId: assignment.id,
    policyAssignmentName: 'allowed-vm-sizes',
    policyAssignmentScope: `/subscriptions/${subscriptionId}`,
    evaluationDetails: { evaluatedExpressions: [expression] },
  }
  return {
    status: 403,
    message: `Resource '${name}' was disallowed by policy. Policy identifiers: '${identifiers}'.`,
    more: { target: name, additionalInfo: [{ type: 'PolicyViolation', info }] },
  }
}
