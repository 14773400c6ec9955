import { RestError } from '@azure/core-rest-pipeline'
import { armErrorCode, armErrorText, retryAfterSeconds, scrubbedMessage } from './azure-error.ts'

/**
 * When a failed call is worth trying again. `retrySoon`: it is over in seconds. `retryLater`: something has to come to an end first.
 * `waitForUser`: somebody has to change something. `capacity`: with another offering, at once.
 */
type RetryClass = 'retrySoon' | 'retryLater' | 'waitForUser' | 'capacity'

/** What a failure is, and what to do about it. Capacity is an outcome and stands in `azure-error.ts`. */
export interface Failure {
  readonly reason: string
  readonly remedy: string
  readonly retry: Exclude<RetryClass, 'capacity'>
  /** The wait that Azure or the class asks for; absent: that of the retry policy. */
  readonly retryAfterMs?: number | undefined
}

/** What is known of a failed call, or of a VM that failed after it was accepted. */
export interface FailureFacts {
  readonly code: string
  /** HTTP status; absent: no answer came, or it is not known. */
  readonly status?: number | undefined
  readonly text: string
  readonly retryAfterMs?: number | undefined
}

interface Rule {
  readonly reason: string
  readonly retry: Failure['retry']
  readonly codes?: readonly string[]
  /** Beside the codes, or together with one. */
  readonly also?: (facts: FailureFacts) => boolean
  readonly onlyIf?: (facts: FailureFacts) => boolean
  readonly remedy: (facts: FailureFacts) => string
}

const retryAfterMs: Readonly<Record<Failure['retry'], number | undefined>> = {
  retrySoon: undefined,
  retryLater: 15_000,
  waitForUser: 60_000,
}
/** A throttled call that names no time. */
const throttledMs = 10_000

const isThrottled = ({ code, status, text }: FailureFacts) =>
  status === 429 || (code === 'OperationNotAllowed' && /TooManyRequests|too many requests|throttl/i.test(text))

/** What a text names after a marker, up to the next quote. */
const named = (text: string, pattern: RegExp) => pattern.exec(text)?.[1]
const quoted = String.raw`\\?['"]`

/** The rules, in the order in which they are looked at; the first that applies decides. Documented in docs/azure-failures.md. */
const rules: readonly Rule[] = [
  {
    reason: 'Throttled',
    retry: 'retrySoon',
    codes: ['TooManyRequests', 'SubscriptionRequestsThrottled', 'ResourceCollectionRequestsThrottled'],
    also: isThrottled,
    remedy: () =>
      "Azure limits the subscription's requests; it goes on by itself when the time that Azure names is over",
  },
  {
    reason: 'PolicyDenied',
    retry: 'waitForUser',
    codes: ['RequestDisallowedByPolicy', 'RequestDisallowedByAzure'],
    remedy: ({ text }) =>
      `an Azure policy forbids the VM: ${policyNames(text)}. Exempt the node resource group, or meet the policy (tags: spec.tags of the AKSNodeClass)`,
  },
  {
    reason: 'NotAuthorized',
    retry: 'waitForUser',
    codes: [
      'AuthorizationFailed',
      'LinkedAuthorizationFailed',
      'LinkedAccessCheckFailed',
      'AuthorizationPermissionMismatch',
    ],
    remedy: ({ text }) => roleRemedy(text),
  },
  {
    reason: 'NotAuthenticated',
    retry: 'waitForUser',
    codes: [
      'AuthenticationFailed',
      'InvalidAuthenticationToken',
      'ExpiredAuthenticationToken',
      'InvalidAuthenticationTokenTenant',
    ],
    also: ({ code, status }) => status === 401 || /^(Aggregate)?AuthenticationError|CredentialUnavailable/.test(code),
    remedy: () =>
      'Azure does not accept the identity; check AZURE_CLIENT_ID, AZURE_TENANT_ID and the federated credential of the ServiceAccount ("joiner doctor" tells which)',
  },
  {
    reason: 'SubnetFull',
    retry: 'retryLater',
    codes: ['SubnetIsFull', 'InsufficientSubnetSize'],
    also: ({ text }) =>
      /SubnetIsFull|subnet\b.{0,300}\bis (already )?full|not enough (free )?(IP )?addresses/i.test(text),
    remedy: ({ text }) =>
      `${resourceIn(text, 'subnets') ?? 'the subnet'} has no free address; enlarge it, set spec.vnetSubnetID of the AKSNodeClass to another, or let nodes go`,
  },
  {
    reason: 'LoadBalancerPoolGone',
    retry: 'retrySoon',
    codes: ['InvalidResourceReference'],
    onlyIf: ({ text }) => text.includes('backendAddressPools'),
    remedy: () => 'a backend pool of the load balancer is gone; the pools are read anew and the VM is asked for again',
  },
  {
    reason: 'ReferenceMissing',
    retry: 'waitForUser',
    codes: ['InvalidResourceReference', 'LinkedInvalidPropertyId'],
    remedy: ({ text }) =>
      `the VM refers to a resource that is not there or lies in another region: ${named(text, /(\/subscriptions\/[^\s'"\\,]+)/i) ?? 'see what Azure says'}; correct the AKSNodeClass or Joiner's settings`,
  },
  {
    reason: 'NicReserved',
    retry: 'retryLater',
    codes: ['NicReservedForAnotherVm'],
    remedy: () => 'Azure keeps the NIC of a failed VM for three minutes; it is tried again',
  },
  {
    reason: 'ImageNotFound',
    retry: 'retryLater',
    codes: [
      'GalleryImageNotFound',
      'PlatformImageNotFound',
      'ImageNotFound',
      'GalleryImageVersionNotFound',
      'CommunityGalleryImageNotFound',
      'SharedGalleryImageNotFound',
    ],
    remedy: ({ text }) =>
      `the node image ${imageIn(text)}is not there (any more); status.images of the AKSNodeClass is read anew every 5 minutes. If it lasts, check spec.imageFamily and the access to the gallery`,
  },
  {
    reason: 'DiskEncryptionSetNotUsable',
    retry: 'waitForUser',
    codes: ['KeyVaultAccessForbidden', 'DiskEncryptionSetNotFound', 'DiskEncryptionSetKeyVaultAccessForbidden'],
    also: ({ text, status }) => status === 403 && text.includes('diskEncryptionSets'),
    remedy: () =>
      'the disk encryption set cannot be used; give Joiner\'s identity the role "Reader" on it, and the set itself access to its key vault',
  },
  {
    reason: 'ProviderNotRegistered',
    retry: 'waitForUser',
    codes: ['MissingSubscriptionRegistration', 'SubscriptionNotRegistered', 'NoRegisteredProviderFound'],
    remedy: ({ text }) =>
      `the subscription does not know a resource provider; run: az provider register --namespace ${named(text, /(Microsoft\.\w+)/) ?? 'Microsoft.Compute'}`,
  },
  {
    reason: 'SizeNotSupported',
    retry: 'waitForUser',
    codes: ['VMSizeNotSupported', 'VMSizeDoesntSupportPremiumStorage', 'HyperVGenerationMismatch'],
    also: ({ code, text }) => code === 'BadRequest' && text.includes('is not supported for subscription'),
    remedy: () =>
      'Azure does not make this size so; exclude it by a requirement of the NodePool (node.kubernetes.io/instance-type NotIn)',
  },
  {
    reason: 'Locked',
    retry: 'waitForUser',
    codes: ['ScopeLocked'],
    remedy: () => 'a lock forbids changes of the node resource group; remove the lock',
  },
  {
    reason: 'SubscriptionUnusable',
    retry: 'waitForUser',
    codes: [
      'ReadOnlyDisabledSubscription',
      'SubscriptionNotFound',
      'ResourceGroupNotFound',
      'ResourceGroupBeingDeleted',
      'InvalidSubscriptionId',
    ],
    remedy: () =>
      'the subscription or the node resource group is not there or not active; check ARM_SUBSCRIPTION_ID and AZURE_NODE_RESOURCE_GROUP',
  },
  {
    reason: 'PropertyChangeNotAllowed',
    retry: 'retrySoon',
    codes: ['PropertyChangeNotAllowed'],
    remedy: () => 'a VM of this name came into being meanwhile; it is looked at, and then taken over or removed',
  },
  {
    reason: 'Conflict',
    retry: 'retryLater',
    codes: [
      'ConflictingUserInput',
      'AnotherOperationInProgress',
      'OperationPreempted',
      'CanceledAndSupersededDueToAnotherOperation',
    ],
    also: ({ code, text }) => code === 'OperationNotAllowed' && /marked for deletion|being deleted/i.test(text),
    remedy: () => 'another operation on the same resource has to end first; it is tried again',
  },
  {
    reason: 'InvalidRequest',
    retry: 'waitForUser',
    also: ({ status }) => status === 400,
    remedy: () =>
      "Azure does not accept the VM as described; correct what it names in the AKSNodeClass or in Joiner's settings",
  },
  {
    reason: 'NotAuthorized',
    retry: 'waitForUser',
    also: ({ status }) => status === 403,
    remedy: ({ text }) => roleRemedy(text),
  },
  {
    reason: 'Conflict',
    retry: 'retryLater',
    also: ({ status }) => status === 409 || status === 404 || status === 412,
    remedy: () => 'the resource is in another state than expected; it is looked at anew and tried again',
  },
  {
    reason: 'ArmUnreachable',
    retry: 'retrySoon',
    codes: ['REQUEST_SEND_ERROR', 'ETIMEDOUT', 'ECONNRESET', 'ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN'],
    remedy: () => 'Azure did not answer; it is asked again. If it lasts, check network, proxy and JOINER_ARM_ENDPOINT',
  },
]

const otherwise: Rule = {
  reason: 'AzureError',
  retry: 'retrySoon',
  remedy: () => 'Azure failed; it is tried again',
}

/** What a failure is. Never undefined: what no rule knows is Azure's, and tried again. */
export function failureOf(facts: FailureFacts): Failure {
  const rule = rules.find((candidate) => applies(candidate, facts)) ?? otherwise
  const wait = facts.retryAfterMs ?? (rule.reason === 'Throttled' ? throttledMs : retryAfterMs[rule.retry])
  return {
    reason: rule.reason,
    remedy: rule.remedy(facts),
    retry: rule.retry,
    ...(wait === undefined ? {} : { retryAfterMs: wait }),
  }
}

function applies({ codes, also, onlyIf }: Rule, facts: FailureFacts): boolean {
  const isMeant = codes?.includes(facts.code) === true || also?.(facts) === true
  return isMeant && onlyIf?.(facts) !== false
}

/** What Joiner itself finds in the way of a launch, before it asks Azure for a VM. The message names object, value and remedy. */
export class LaunchBlocked extends Error {
  readonly reason: 'ClusterNetworkUnknown' | 'NodeConfigurationRefused' | 'InstanceNotOwned'

  constructor(reason: LaunchBlocked['reason'], message: string) {
    super(message)
    this.name = 'LaunchBlocked'
    this.reason = reason
  }
}

/** What the rules look for stands at its beginning; they search in a time that grows with the square of its length. */
const longestText = 10_000

/** What of an error the rules look at; undefined when it comes from somewhere else than Azure. */
export function azureFailure(error: unknown): Failure | undefined {
  if (error instanceof LaunchBlocked)
    return {
      reason: error.reason,
      remedy: error.message,
      retry: 'waitForUser',
      retryAfterMs: retryAfterMs.waitForUser,
    }
  if (error instanceof RestError) {
    const seconds = retryAfterSeconds(error)
    return failureOf({
      code: armErrorCode(error) ?? error.code ?? '',
      status: error.statusCode,
      text: armErrorText(error).slice(0, longestText),
      retryAfterMs: seconds === undefined ? undefined : seconds * 1000,
    })
  }
  const name = error instanceof Error ? error.name : ''
  return /AuthenticationError$|^CredentialUnavailable/.test(name)
    ? failureOf({ code: name, text: String(error) })
    : undefined
}

/** Reason, remedy and what Azure said, in one line that is fit for conditions, events and histories. */
export function failureMessage(error: unknown, { reason, remedy }: Failure): string {
  if (error instanceof LaunchBlocked) return `${reason}: ${remedy}`
  return `${reason}: ${remedy}. Azure said: ${scrubbedMessage(error)}`
}

/** The role and where to assign it. Azure's text names who, which action and which scope. */
function roleRemedy(text: string): string {
  const linked = /perform action(?:\(s\))? ['"]?([^'"]+?)['"]? on the linked scope(?:\(s\))? ['"]?([^'"\s]+)/i.exec(
    text,
  )
  const own = /perform action ['"]?([^'"\s]+)['"]? (?:over|on) scope ['"]?([^'"\s]+)/i.exec(text)
  const [, action, scope] = linked ?? own ?? []
  const who = named(text, /object id ['"]([^'"]+)['"]/i)
  if (action === undefined || scope === undefined)
    return 'Joiner\'s identity lacks a role; assign "Virtual Machine Contributor", "Network Contributor" and "Managed Identity Operator" on the node resource group, and "Network Contributor" on that of the network'
  const assign = `az role assignment create --assignee-object-id ${who ?? 'OBJECT_ID'} --assignee-principal-type ServicePrincipal --role "${roleFor(action)}" --scope ${scope}`
  return `Joiner's identity may not ${action} on ${scope}; run: ${assign}`
}

/** The least of Azure's roles that Joiner's documentation names for an action (reference/azure-provider.md 9.4). */
function roleFor(action: string): string {
  const lower = action.toLowerCase()
  if (lower.includes('userassignedidentities')) return 'Managed Identity Operator'
  if (lower.startsWith('microsoft.network/')) return 'Network Contributor'
  if (lower.includes('diskencryptionsets') || lower.includes('/galleries/')) return 'Reader'
  return 'Virtual Machine Contributor'
}

/** The policies that a denial names: display names where Azure gives them, else ids. */
function policyNames(text: string): string {
  const fields = ['policyAssignmentDisplayName', 'policyDefinitionDisplayName', 'policyAssignmentName']
  const own = fields.flatMap((field) => [
    ...text.matchAll(new RegExp(`${quoted}${field}${quoted}\\s*:\\s*${quoted}([^"'\\\\]+)`, 'g')),
  ])
  const inMessage = [
    ...text.matchAll(
      new RegExp(`${quoted}policyAssignment${quoted}:\\{${quoted}name${quoted}:${quoted}([^"'\\\\]+)`, 'g'),
    ),
  ]
  const ids = [...text.matchAll(/\/providers\/Microsoft\.Authorization\/policyAssignments\/([^\s"'\\,]+)/gi)]
  const names = [...new Set([...own, ...inMessage, ...ids].map(([, name = '']) => name))]
  return names.length === 0 ? 'see what Azure says' : names.slice(0, 3).join(', ')
}

function resourceIn(text: string, type: string): string | undefined {
  return named(text, new RegExp(`(/subscriptions/[^\\s'"\\\\,]+/${type}/[^\\s'"\\\\,/]+)`, 'i'))
}

function imageIn(text: string): string {
  const image = named(text, /((?:\/CommunityGalleries|\/subscriptions)\/[^\s'"\\,]+\/versions\/[^\s'"\\,]+)/i)
  return image === undefined ? '' : `${image} `
}
