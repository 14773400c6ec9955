// Rules that classify errors of Azure; docs/azure-errors.md documents them.

/**
 * When a failed call is worth a retry. `retrySoon`: it is over in seconds. `retryLater`: something has to come to an end first.
 * `waitForUser`: a user has to change something. `capacity`: with another offering, at once.
 */
type RetryClass = 'retrySoon' | 'retryLater' | 'waitForUser' | 'capacity'

/** A failure and its remedy. Capacity is an outcome and is in `azure-error.ts`. */
export interface Failure {
  readonly reason: string
  readonly remedy: string
  readonly retry: Exclude<RetryClass, 'capacity'>
  /** The wait that Azure or the class asks for. Unset: that of the retry policy. */
  readonly retryAfterMs?: number | undefined
}

/** Facts of a failed call, or of a VM that failed after it was accepted. */
export interface FailureFacts {
  readonly code: string
  /** HTTP status. Unset when no answer came, or it is not known. */
  readonly status?: number | undefined
  /** All that Azure said. */
  readonly text: string
  /** The message by itself, and the field or resource that Azure names beside it; unset where the text is all. */
  readonly message?: string
  readonly target?: string
  readonly retryAfterMs?: number | undefined
}

export interface Rule {
  readonly reason: string
  readonly retry: Failure['retry']
  readonly codes?: readonly string[]
  /** Alternative to the codes. */
  readonly also?: (facts: FailureFacts) => boolean
  readonly onlyIf?: (facts: FailureFacts) => boolean
  /** Nothing is known of the cause: it may be the size that was asked for. */
  readonly isUnexplained?: true
  readonly remedy: (facts: FailureFacts) => string
}

const isThrottled = ({ code, status, text }: FailureFacts) =>
  status === 429 || (code === 'OperationNotAllowed' && /TooManyRequests|too many requests|throttl/i.test(text))

/** The rules, in the order in which they are checked; the first that applies decides. docs/azure-errors.md has a row for each. */
export const rules: readonly Rule[] = [
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
    remedy: ({ text }) =>
      loginRemedy(text) ??
      'Azure does not accept the identity; check AZURE_CLIENT_ID, AZURE_TENANT_ID and the federated credential of the ServiceAccount ("joiner doctor" says which)',
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
    remedy: () => 'a backend pool of the load balancer is gone; the pools are read again and the VM is asked for again',
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
      `the node image ${imageIn(text)}is not there (any more); status.images of the AKSNodeClass is read again every 5 minutes. If it lasts, check spec.imageFamily and the access to the gallery`,
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
    reason: 'ApiVersionUnknown',
    retry: 'waitForUser',
    codes: ['InvalidApiVersionParameter', 'NoRegisteredProviderFound', 'InvalidResourceType'],
    onlyIf: ({ text }) => /api[- ]?version/i.test(text),
    remedy: ({ text }) =>
      `API version ${named(text, /version\w* ['"]?(\d{4}-\d{2}-\d{2}(?:-preview)?)/i) ?? 'of the request'} is not known in this cloud; upgrade or downgrade Joiner to a release that uses one of those that Azure names`,
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
    codes: ['InvalidParameter', 'BadRequest'],
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
    isUnexplained: true,
    also: ({ status }) => status === 409 || status === 404 || status === 412,
    remedy: () => 'the resource is in another state than expected; it is read again and tried again',
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
  isUnexplained: true,
  remedy: () => 'Azure failed; it is tried again',
}

/** Returns the first rule that applies. A failure without a rule is Azure's, and retried. */
export function ruleFor(facts: FailureFacts): Rule {
  return rules.find((rule) => applies(rule, facts)) ?? otherwise
}

function applies({ codes, also, onlyIf }: Rule, facts: FailureFacts): boolean {
  const isMeant = codes?.includes(facts.code) === true || also?.(facts) === true
  return isMeant && onlyIf?.(facts) !== false
}

// Names in the text of an Azure error: policies, resources, images, and the missing role.

/** Returns the name in a text after a marker, up to the next quote. */
const named = (text: string, pattern: RegExp) => pattern.exec(text)?.[1]
const quoted = String.raw`\\?['"]`

/** Returns the role and where to assign it. Azure's text names the principal, the action and the scope. */
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

/** Returns the least of Azure's roles that Joiner's documentation names for an action (reference/azure-provider.md 9.4). */
function roleFor(action: string): string {
  const lower = action.toLowerCase()
  if (lower.includes('userassignedidentities')) return 'Managed Identity Operator'
  if (lower.startsWith('microsoft.network/')) return 'Network Contributor'
  if (lower.includes('diskencryptionsets') || lower.includes('/galleries/')) return 'Reader'
  return 'Virtual Machine Contributor'
}

/** Returns the policies that a denial names: display names where Azure gives them, else ids. */
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

/** Returns what helps where the authority that hands out tokens is not reached, which MSAL names by these codes; undefined: it was reached. */
export function loginRemedy(text: string): string | undefined {
  return /endpoints_resolution_error|openid_config_error|network_error/.test(text)
    ? "check the network from here to AZURE_AUTHORITY_HOST (https://login.microsoftonline.com unless it is set): what hands out Azure's tokens is not reached, or its certificate is not valid by this machine's clock (date -u)"
    : undefined
}
