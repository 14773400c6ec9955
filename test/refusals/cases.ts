// How Azure refuses a VM, and what Joiner has to do about each: the table of reference/real-aks.md 1.

/** Which VM was asked for. `zone`: ARM's number. */
interface Asked {
  readonly size: string
  readonly zone: string
}

/**
 * `another`: the same NodeClaim is launched as another offering at once, and what was refused is marked with `reason`. `wait`: the launch is tried again
 * by itself, and nothing is marked. `named`: an operator has to change something; the NodeClaim says `reason` and the words, and no size is marked.
 */
type Reaction =
  | { readonly kind: 'another'; readonly reason: string }
  | { readonly kind: 'wait'; readonly reason: string }
  | { readonly kind: 'named'; readonly reason: string; readonly words: RegExp }

export interface RefusalCase {
  readonly name: string
  /** HTTP status of the answer to the PUT; unset where the VM is accepted and fails later. */
  readonly status?: number
  readonly code: string
  readonly message: (asked: Asked) => string
  readonly spot?: true
  /** Whether every size is refused so, and not one. */
  readonly isCommon?: true
  readonly reaction: Reaction
}

const noRoom = 'Allocation failed. We do not have sufficient capacity for the requested VM size in this region.'
const quota = (name: string) =>
  `Operation could not be completed as it results in exceeding approved ${name} quota. Additional details - Deployment Model: Resource Manager, Location: westus2, Current Limit: 10, Current Usage: 10, Additional Required: 4.`
const another = (reason: string): Reaction => ({ kind: 'another', reason })
const wait = (reason: string): Reaction => ({ kind: 'wait', reason })
const named = (reason: string, words: RegExp): Reaction => ({ kind: 'named', reason, words })
const scope =
  '/subscriptions/00000000-0000-4000-8000-000000000001/resourceGroups/MC_local_joiner_westus2/providers/Microsoft.Network/virtualNetworks/aks-vnet-12345678/subnets/aks-subnet'

export const refusalCases: readonly RefusalCase[] = [
  {
    name: 'a size that cannot boot the image',
    status: 400,
    code: 'InvalidParameter',
    message: ({ size }) =>
      `The VM size '${size}' cannot boot with OS image or disk. Please check that disk controller types supported by the OS image or disk is one of the supported disk controller types for the VM size '${size}'.`,
    reaction: another('SizeCannotBootImage'),
  },
  {
    name: 'a size of another Hyper-V generation',
    status: 400,
    code: 'HyperVGenerationMismatch',
    message: ({ size }) =>
      `The selected VM size '${size}' cannot boot Hypervisor Generation '2'. If this was a Create operation please check that the Hypervisor Generation of the Image matches the Hypervisor Generation of the selected VM Size.`,
    reaction: another('SizeCannotBootImage'),
  },
  {
    name: 'a parameter without a size',
    status: 400,
    code: 'InvalidParameter',
    message: () => 'The value of parameter osProfile.linuxConfiguration is invalid.',
    isCommon: true,
    reaction: named('CommonLaunchFailure', /osProfile\.linuxConfiguration/),
  },
  {
    name: 'a parameter, with the size',
    status: 400,
    code: 'InvalidParameter',
    message: ({ size }) => `The requested VM size ${size} is not available in the current region.`,
    reaction: another('SizeRefused'),
  },
  {
    name: 'a size that is not supported',
    status: 400,
    code: 'VMSizeNotSupported',
    message: ({ size }) => `The VM size ${size} is not supported in this location.`,
    reaction: another('SizeNotSupported'),
  },
  {
    name: 'a size that the subscription does not get',
    status: 409,
    code: 'SkuNotAvailable',
    message: ({ size }) =>
      `The requested VM size for resource 'Following SKUs have failed for Capacity Restrictions: ${size}' is currently not available in location 'westus2' (NotAvailableForSubscription).`,
    reaction: another('SKUNotAvailable'),
  },
  {
    name: 'a spot size that is not available',
    status: 409,
    code: 'SkuNotAvailable',
    message: ({ size }) => `The requested size ${size} is currently not available for spot in location 'westus2'.`,
    spot: true,
    reaction: another('SKUNotAvailable'),
  },
  {
    name: 'no room in the zone',
    status: 409,
    code: 'ZonalAllocationFailed',
    message: () => `${noRoom} Zone.`,
    reaction: another('ZonalAllocationFailure'),
  },
  {
    name: 'no room in the region',
    status: 409,
    code: 'AllocationFailed',
    message: () => noRoom,
    reaction: another('AllocationFailure'),
  },
  {
    name: 'an overconstrained request',
    status: 409,
    code: 'OverconstrainedAllocationRequest',
    message: () => 'Allocation failed. VM(s) with the following constraints cannot be allocated: VM Size, Priority.',
    reaction: another('OverconstrainedAllocationFailure'),
  },
  {
    name: 'an overconstrained request for a zone',
    status: 409,
    code: 'OverconstrainedZonalAllocationRequest',
    message: () => 'Allocation failed. VM(s) with the following constraints cannot be allocated: VM Size, Zone.',
    reaction: another('OverconstrainedZonalAllocationFailure'),
  },
  {
    name: "a family's quota",
    status: 409,
    code: 'OperationNotAllowed',
    message: () => quota('standardDSv5Family Family Cores').replace('Family Family', 'Family'),
    reaction: another('SubscriptionQuotaReached'),
  },
  {
    name: "a family's quota, as QuotaExceeded",
    status: 403,
    code: 'QuotaExceeded',
    message: () => quota('standardDSv5Family Cores'),
    reaction: another('SubscriptionQuotaReached'),
  },
  {
    name: 'the quota of a category of families',
    status: 409,
    code: 'OperationNotAllowed',
    message: () => quota('General Purpose Compute vCPUs'),
    reaction: another('SubscriptionQuotaReached'),
  },
  {
    name: 'the quota of spot',
    status: 409,
    code: 'OperationNotAllowed',
    message: () => quota('LowPriorityCores'),
    spot: true,
    reaction: another('SubscriptionQuotaReached'),
  },
  {
    name: 'the quota of spot, as QuotaExceeded',
    status: 403,
    code: 'QuotaExceeded',
    message: () => quota('LowPriorityCores'),
    spot: true,
    reaction: another('SubscriptionQuotaReached'),
  },
  {
    name: 'a size without Trusted Launch',
    status: 400,
    code: 'BadRequest',
    message: ({ size }) => `Use of TrustedLaunch setting is not supported for the provided VM size ${size}.`,
    reaction: another('SizeRefused'),
  },
  {
    name: 'a security profile that the size does not have',
    status: 400,
    code: 'InvalidParameter',
    message: () => 'The value of securityProfile.encryptionAtHost is not valid for this VM size.',
    reaction: another('SizeRefused'),
  },
  {
    name: 'a size without room for an ephemeral disk',
    status: 400,
    code: 'InvalidParameter',
    message: ({ size }) =>
      `OS disk of Ephemeral VM with size greater than 30 GB is not allowed for VM size ${size} when diffDiskSettings.placement is CacheDisk.`,
    reaction: another('SizeRefused'),
  },
  {
    name: 'a feature that the subscription has not enabled',
    status: 400,
    code: 'InvalidParameter',
    message: () =>
      "The property 'securityProfile.encryptionAtHost' is not valid because the 'Microsoft.Compute/EncryptionAtHost' feature is not enabled for this subscription.",
    isCommon: true,
    reaction: named('CommonLaunchFailure', /EncryptionAtHost/),
  },
  {
    name: 'a zone that does not sell the size',
    status: 400,
    code: 'InvalidAvailabilityZone',
    message: ({ zone }) =>
      `The zone(s) '${zone}' for resource 'Microsoft.Compute/virtualMachines' is not supported. The supported zones for location 'westus2' are others.`,
    reaction: another('ZoneNotSupported'),
  },
  {
    name: 'an operation that conflicts',
    status: 409,
    code: 'Conflict',
    message: () => 'The request failed due to conflict with a concurrent request.',
    isCommon: true,
    reaction: wait('Conflict'),
  },
  {
    name: 'another operation in progress',
    status: 409,
    code: 'AnotherOperationInProgress',
    message: () => 'Another operation on this or dependent resource is in progress.',
    isCommon: true,
    reaction: wait('Conflict'),
  },
  {
    name: 'an API version that the cloud does not know',
    status: 400,
    code: 'InvalidApiVersionParameter',
    message: () =>
      "The api-version '2026-04-01' is invalid. The supported versions are '2025-04-01,2024-11-01,2024-07-01'.",
    isCommon: true,
    reaction: named('ApiVersionUnknown', /2026-04-01/),
  },
  {
    name: 'an API version that the provider does not know',
    status: 400,
    code: 'NoRegisteredProviderFound',
    message: () =>
      "No registered resource provider found for location 'westus2' and API version '2026-04-01' for type 'virtualMachines'. The supported api-versions are '2025-04-01'.",
    isCommon: true,
    reaction: named('ApiVersionUnknown', /API version 2026-04-01/),
  },
  {
    name: 'a provider that is not registered',
    status: 409,
    code: 'MissingSubscriptionRegistration',
    message: () => "The subscription is not registered to use namespace 'Microsoft.Compute'.",
    isCommon: true,
    reaction: named('ProviderNotRegistered', /az provider register --namespace Microsoft\.Compute/),
  },
  {
    name: 'a missing role',
    status: 403,
    code: 'AuthorizationFailed',
    message: () =>
      `The client 'c' with object id 'c' does not have authorization to perform action 'Microsoft.Compute/virtualMachines/write' over scope '${scope}' or the scope is invalid.`,
    isCommon: true,
    reaction: named('NotAuthorized', /az role assignment create/),
  },
  {
    name: 'a missing role on the subnet',
    status: 403,
    code: 'LinkedAuthorizationFailed',
    message: () =>
      `The client 'c' with object id 'c' has permission to perform action 'Microsoft.Compute/virtualMachines/write' on scope '/x'; however, it does not have permission to perform action(s) 'Microsoft.Network/virtualNetworks/subnets/join/action' on the linked scope(s) '${scope}' (respectively) or the linked scope(s) are invalid.`,
    isCommon: true,
    reaction: named('NotAuthorized', /Network Contributor/),
  },
  {
    name: 'a policy without a size',
    status: 403,
    code: 'RequestDisallowedByPolicy',
    message: () =>
      `Resource 'x' was disallowed by policy. Policy identifiers: '[{"policyAssignment":{"name":"Require a tag"}}]'.`,
    isCommon: true,
    reaction: named('PolicyDenied', /Require a tag/),
  },
  {
    name: 'a policy that names the size',
    status: 403,
    code: 'RequestDisallowedByPolicy',
    message: ({ size }) =>
      `Resource 'x' was disallowed by policy. Policy identifiers: '[{"policyAssignment":{"name":"Allowed sizes"}}]'. The value ${size} is not in the list.`,
    reaction: another('SizeForbiddenByPolicy'),
  },
  {
    name: 'a full subnet',
    status: 400,
    code: 'SubnetIsFull',
    message: () => `Subnet aks-subnet with address prefix 10.0.0.0/24 does not have enough capacity: ${scope}`,
    isCommon: true,
    reaction: named('SubnetFull', /no free address/),
  },
  {
    name: 'a wrong resource group',
    status: 404,
    code: 'ResourceGroupNotFound',
    message: () => "Resource group 'MC_wrong' could not be found.",
    isCommon: true,
    reaction: named('SubscriptionUnusable', /AZURE_NODE_RESOURCE_GROUP/),
  },
  {
    name: 'an image that is gone',
    status: 404,
    code: 'GalleryImageNotFound',
    message: () => 'The gallery image /CommunityGalleries/g/images/i/versions/1 is not available in westus2 region.',
    isCommon: true,
    reaction: named('ImageNotFound', /not there/),
  },
  {
    name: 'a platform image that is gone',
    status: 404,
    code: 'PlatformImageNotFound',
    message: () => 'The platform image is not available. Verify that all fields in the storage profile are correct.',
    isCommon: true,
    reaction: named('ImageNotFound', /not there/),
  },
  {
    name: 'throttling',
    status: 429,
    code: 'TooManyRequests',
    message: () => 'The request is being throttled as the limit has been reached for operation type.',
    isCommon: true,
    reaction: wait('Throttled'),
  },
  {
    name: 'an unknown code for one size',
    status: 500,
    code: 'SomethingNew',
    message: () => 'Something new happened.',
    reaction: another('RepeatedFailure'),
  },
  {
    name: 'an unknown code for all sizes',
    status: 500,
    code: 'SomethingElse',
    message: () => 'Something else happened.',
    isCommon: true,
    reaction: named('CommonLaunchFailure', /whatever the size/),
  },
  {
    name: 'a VM that fails for want of room',
    code: 'AllocationFailed',
    message: () => noRoom,
    reaction: another('AllocationFailure'),
  },
  {
    name: 'a VM that fails to provision its OS',
    code: 'OSProvisioningTimedOut',
    message: () => "OS Provisioning for VM 'x' did not finish in the allotted time.",
    reaction: another('RepeatedFailure'),
  },
  {
    name: 'a VM whose extension fails',
    code: 'VMExtensionProvisioningError',
    message: () => "VM has reported a failure when processing extension 'cse-agent-karpenter'.",
    reaction: another('RepeatedFailure'),
  },
  {
    name: 'a VM that fails inside Azure',
    code: 'InternalExecutionError',
    message: () => 'An internal execution error occurred. Please retry later.',
    reaction: another('RepeatedFailure'),
  },
]
