import { readFileSync } from 'node:fs'
import { createHttpHeaders, createPipelineRequest, RestError } from '@azure/core-rest-pipeline'
import { describe, expect, it } from 'vitest'
import { azureFailure, failureMessage, failureOf, LaunchBlocked } from './azure-failure.ts'
import { type FailureFacts, rules } from './azure-failure-rules.ts'

const scope = '/subscriptions/s/resourceGroups/MC_rg/providers/Microsoft.Compute/virtualMachines/aks-a'
const subnet = '/subscriptions/s/resourceGroups/net/providers/Microsoft.Network/virtualNetworks/v/subnets/nodes'
const client = "The client 'c' with object id 'oid-1'"

const cases: readonly (readonly [what: string, FailureFacts, reason: string, retry: string, remedy: RegExp])[] = [
  ['throttling', { code: 'TooManyRequests', status: 429, text: '' }, 'Throttled', 'retrySoon', /by itself/],
  ['throttling by status alone', { code: '', status: 429, text: '' }, 'Throttled', 'retrySoon', /requests/],
  [
    'throttling under the code of quotas',
    { code: 'OperationNotAllowed', status: 409, text: '{"details":[{"code":"TooManyRequests","target":"PutVM3Min"}]}' },
    'Throttled',
    'retrySoon',
    /requests/,
  ],
  [
    'a missing role',
    {
      code: 'AuthorizationFailed',
      status: 403,
      text: `${client} does not have authorization to perform action 'Microsoft.Compute/virtualMachines/write' over scope '${scope}' or the scope is invalid.`,
    },
    'NotAuthorized',
    'waitForUser',
    new RegExp(`--assignee-object-id oid-1 .* --role "Virtual Machine Contributor" --scope ${scope}$`),
  ],
  [
    'a missing role on a linked resource',
    {
      code: 'LinkedAuthorizationFailed',
      status: 403,
      text: `${client} has permission to perform action 'Microsoft.Compute/virtualMachines/write' on scope '${scope}'; however, it does not have permission to perform action(s) 'Microsoft.Network/virtualNetworks/subnets/join/action' on the linked scope(s) '${subnet}' (respectively) or the linked scope(s) are invalid.`,
    },
    'NotAuthorized',
    'waitForUser',
    new RegExp(`subnets/join/action.*--role "Network Contributor" --scope ${subnet}$`),
  ],
  [
    'a missing role on an identity',
    {
      code: 'LinkedAuthorizationFailed',
      status: 403,
      text: `${client} has permission to perform action 'x/write' on scope '${scope}'; however, it does not have permission to perform action(s) 'Microsoft.ManagedIdentity/userAssignedIdentities/assign/action' on the linked scope(s) '/subscriptions/s/id'`,
    },
    'NotAuthorized',
    'waitForUser',
    /--role "Managed Identity Operator"/,
  ],
  [
    'a missing role on a disk encryption set',
    {
      code: 'LinkedAuthorizationFailed',
      status: 403,
      text: `it does not have permission to perform action(s) 'Microsoft.Compute/diskEncryptionSets/read' on the linked scope(s) '/subscriptions/s/diskEncryptionSets/d'`,
    },
    'NotAuthorized',
    'waitForUser',
    /--assignee-object-id OBJECT_ID .*--role "Reader" --scope .*diskEncryptionSets\/d/,
  ],
  [
    'a refusal without a scope',
    { code: 'Forbidden', status: 403, text: '' },
    'NotAuthorized',
    'waitForUser',
    /Network Contributor/,
  ],
  [
    'a bad token',
    { code: 'InvalidAuthenticationToken', status: 401, text: '' },
    'NotAuthenticated',
    'waitForUser',
    /AZURE_CLIENT_ID/,
  ],
  [
    'an authority that is not reached',
    { code: 'AuthenticationError', text: 'AuthenticationRequiredError: endpoints_resolution_error: See' },
    'NotAuthenticated',
    'waitForUser',
    /AZURE_AUTHORITY_HOST .*tokens is not reached/,
  ],
  [
    'a policy, by the names in additionalInfo',
    {
      code: 'RequestDisallowedByPolicy',
      status: 403,
      text: '{"additionalInfo":[{"info":{"policyDefinitionDisplayName":"Require a tag on resources","policyAssignmentName":"tags-1"}}]}',
    },
    'PolicyDenied',
    'waitForUser',
    /forbids the VM: Require a tag on resources, tags-1\./,
  ],
  [
    'a policy, by the message',
    {
      code: 'RequestDisallowedByPolicy',
      status: 403,
      text: `{"error":{"message":"Resource 'a' was disallowed by policy. Policy identifiers: '[{\\"policyAssignment\\":{\\"name\\":\\"Allowed sizes\\",\\"id\\":\\"/subscriptions/s/providers/Microsoft.Authorization/policyAssignments/abc\\"}}]'."}}`,
    },
    'PolicyDenied',
    'waitForUser',
    /Allowed sizes, abc/,
  ],
  [
    'a full subnet',
    { code: 'SubnetIsFull', status: 400, text: `Subnet nodes with id ${subnet} is full` },
    'SubnetFull',
    'retryLater',
    new RegExp(`${subnet} has no free address.*vnetSubnetID`),
  ],
  [
    'a full subnet, told later',
    { code: 'NetworkingInternalOperationError', text: 'SubnetIsFull: no address' },
    'SubnetFull',
    'retryLater',
    /subnet has no free/,
  ],
  [
    'a backend pool that is gone',
    { code: 'InvalidResourceReference', status: 400, text: '/loadBalancers/kubernetes/backendAddressPools/p' },
    'LoadBalancerPoolGone',
    'retrySoon',
    /read again/,
  ],
  [
    'another reference that is gone',
    {
      code: 'InvalidResourceReference',
      status: 400,
      text: `Resource ${subnet} referenced by resource x was not found`,
    },
    'ReferenceMissing',
    'waitForUser',
    new RegExp(subnet),
  ],
  [
    'a reserved NIC',
    { code: 'NicReservedForAnotherVm', status: 400, text: '' },
    'NicReserved',
    'retryLater',
    /three minutes/,
  ],
  [
    'an image that is gone',
    {
      code: 'GalleryImageNotFound',
      status: 404,
      text: 'The image /CommunityGalleries/g/images/d/versions/1.2.3 is not there',
    },
    'ImageNotFound',
    'retryLater',
    /CommunityGalleries\/g\/images\/d\/versions\/1\.2\.3 is not there/,
  ],
  [
    'a platform image',
    { code: 'PlatformImageNotFound', status: 404, text: '' },
    'ImageNotFound',
    'retryLater',
    /status\.images/,
  ],
  [
    'a provider that is not registered',
    {
      code: 'MissingSubscriptionRegistration',
      status: 409,
      text: "not registered to use namespace 'Microsoft.Network'",
    },
    'ProviderNotRegistered',
    'waitForUser',
    /az provider register --namespace Microsoft\.Network$/,
  ],
  [
    'a key vault',
    { code: 'KeyVaultAccessForbidden', status: 400, text: '' },
    'DiskEncryptionSetNotUsable',
    'waitForUser',
    /key vault/,
  ],
  ['a size', { code: 'VMSizeNotSupported', status: 400, text: '' }, 'SizeNotSupported', 'waitForUser', /NotIn/],
  ['a lock', { code: 'ScopeLocked', status: 409, text: '' }, 'Locked', 'waitForUser', /remove the lock/],
  [
    'a group that is gone',
    { code: 'ResourceGroupNotFound', status: 404, text: '' },
    'SubscriptionUnusable',
    'waitForUser',
    /AZURE_NODE_RESOURCE_GROUP/,
  ],
  [
    'a VM that is there',
    { code: 'PropertyChangeNotAllowed', status: 409, text: '' },
    'PropertyChangeNotAllowed',
    'retrySoon',
    /taken over or removed/,
  ],
  [
    'what is being deleted',
    { code: 'OperationNotAllowed', status: 409, text: 'the VM is marked for deletion' },
    'Conflict',
    'retryLater',
    /end first/,
  ],
  ['what another does', { code: 'ConflictingUserInput', status: 409, text: '' }, 'Conflict', 'retryLater', /end first/],
  ['an unknown conflict', { code: 'Whatever', status: 409, text: '' }, 'Conflict', 'retryLater', /again/],
  [
    'an unknown refusal',
    { code: 'InvalidParameter', status: 400, text: '' },
    'InvalidRequest',
    'waitForUser',
    /correct/,
  ],
  [
    "Azure's own trouble",
    { code: 'InternalExecutionError', status: 500, text: '' },
    'AzureError',
    'retrySoon',
    /tried again/,
  ],
  ['no answer', { code: 'REQUEST_SEND_ERROR', text: '' }, 'ArmUnreachable', 'retrySoon', /proxy/],
]

describe('a failure', () => {
  it.for(cases)('%s', ([_what, facts, reason, retry, remedy]) => {
    expect(failureOf(facts)).toMatchObject({ reason, retry, remedy: expect.stringMatching(remedy) })
  })

  it.each([
    ['Retry-After', { code: '', status: 429, text: '', retryAfterMs: 17_000 }, 17_000],
    ['throttling without it', { code: '', status: 429, text: '' }, 10_000],
    ['what a person fixes', { code: 'ScopeLocked', text: '' }, 60_000],
    ['what ends by itself', { code: 'NicReservedForAnotherVm', text: '' }, 15_000],
    ["what is Azure's", { code: '', status: 500, text: '' }, undefined],
  ])('waits for %s', (_what, facts, expected) => {
    expect(failureOf(facts).retryAfterMs).toBe(expected)
  })

  it('is reported with the message of Azure, in one line', () => {
    const request = createPipelineRequest({ url: 'https://management.azure.com/' })
    const headers = createHttpHeaders({ 'retry-after': '3', 'x-ms-error-code': 'TooManyRequests' })
    const error = new RestError('slow down\nsecret', {
      statusCode: 429,
      code: 'Other',
      request,
      response: { request, status: 429, headers, bodyAsText: '{}' },
    })
    const failure = azureFailure(error)
    expect(failure).toMatchObject({ reason: 'Throttled', retryAfterMs: 3000 })
    expect(failure && failureMessage(error, failure)).toMatch(
      /^Throttled: .*\. Azure said: TooManyRequests \(HTTP 429\): slow down$/,
    )
  })

  it('that is our own refusal has nothing that Azure said', () => {
    const error = new LaunchBlocked('InstanceNotOwned', 'VM aks-a is of another cluster')
    const failure = azureFailure(error)
    expect(failure && failureMessage(error, failure)).toBe('InstanceNotOwned: VM aks-a is of another cluster')
  })

  it('of the credential is one too, and any other error is none', () => {
    const error = Object.assign(new Error('no token'), { name: 'CredentialUnavailableError' })
    expect(azureFailure(error)?.reason).toBe('NotAuthenticated')
    expect(azureFailure(new Error('reset'))).toBeUndefined()
  })
})

const documented = readFileSync(new URL('../../../docs/azure-errors.md', import.meta.url), 'utf8').split('\n')

it.each(rules.map(({ reason, codes = [] }) => [reason, codes] as const))(
  '%s is documented, with its codes',
  (reason, codes) => {
    const row = documented.find((line) => line.startsWith('|') && line.split('|')[1]?.includes(`\`${reason}\``))
    expect(codes.filter((code) => row?.includes(`\`${code}\``) !== true)).toEqual([])
    expect(row).toBeDefined()
  },
)
