import { createDefaultHttpClient, type HttpClient } from '@azure/core-rest-pipeline'
import {
  AzureCliCredential,
  ClientSecretCredential,
  ManagedIdentityCredential,
  type TokenCredential,
  WorkloadIdentityCredential,
} from '@azure/identity'
import { answerPolicy } from '../answers/answer-policy.ts'
import type { Cloud } from './clouds.ts'

/** Settings of the environment for Joiner's own identity at Azure. */
export interface IdentitySettings {
  readonly tenantId?: string | undefined
  readonly clientId?: string | undefined
  readonly clientSecret?: string | undefined
  readonly federatedTokenFile?: string | undefined
  /** AZURE_TOKEN_CREDENTIALS: the credential to use, whatever else is there. */
  readonly wanted?: string | undefined
  /** A managed identity's endpoint other than the VM's own. */
  readonly identityEndpoint?: string | undefined
  /** Whether the process runs in a pod, where the Azure CLI has no login. */
  readonly isInCluster: boolean
  /** Whether `az` can be run. */
  readonly hasCli: boolean
}

export type CredentialKind = 'environment' | 'workload identity' | 'managed identity' | 'Azure CLI'

export type CredentialChoice =
  | {
      readonly kind: 'chosen'
      readonly credential: CredentialKind
      /** The reason of the choice, for the log. */
      readonly because: string
    }
  | { readonly kind: 'none'; readonly message: string }

const explicit: Readonly<Record<string, CredentialKind>> = {
  environmentcredential: 'environment',
  workloadidentitycredential: 'workload identity',
  managedidentitycredential: 'managed identity',
  azureclicredential: 'Azure CLI',
}

const neededFor: Readonly<
  Record<CredentialKind, readonly (readonly [keyof IdentitySettings, variable: string, whoSetsIt: string])[]>
> = {
  environment: [
    ['tenantId', 'AZURE_TENANT_ID', 'the tenant of the application'],
    ['clientId', 'AZURE_CLIENT_ID', "the application's id"],
    ['clientSecret', 'AZURE_CLIENT_SECRET', "the application's secret"],
  ],
  'workload identity': [
    ['tenantId', 'AZURE_TENANT_ID', 'AKS sets it in pods with the label azure.workload.identity/use: "true"'],
    [
      'clientId',
      'AZURE_CLIENT_ID',
      "AKS sets it from the ServiceAccount's annotation azure.workload.identity/client-id (chart: workloadIdentity.clientId)",
    ],
    [
      'federatedTokenFile',
      'AZURE_FEDERATED_TOKEN_FILE',
      'AKS sets it in pods with the label azure.workload.identity/use: "true" (az aks update --enable-workload-identity --enable-oidc-issuer)',
    ],
  ],
  'managed identity': [],
  'Azure CLI': [],
}

/**
 * Chooses Joiner's credential: the one that AZURE_TOKEN_CREDENTIALS names, else the first available in the order of Azure's own
 * SDKs: environment, workload identity, managed identity, Azure CLI (reference/azure-provider.md 9.5).
 */
export function chooseCredential(settings: IdentitySettings): CredentialChoice {
  const wanted = settings.wanted?.toLowerCase()
  const named = wanted === undefined ? undefined : explicit[wanted]
  if (named !== undefined) return checked(named, `AZURE_TOKEN_CREDENTIALS is ${settings.wanted}`, settings)
  if (wanted === 'dev') return checked('Azure CLI', 'AZURE_TOKEN_CREDENTIALS is dev', settings)
  if (settings.clientSecret !== undefined) return checked('environment', 'AZURE_CLIENT_SECRET is set', settings)
  if (settings.federatedTokenFile !== undefined)
    return checked('workload identity', 'AZURE_FEDERATED_TOKEN_FILE is set', settings)
  if (settings.identityEndpoint !== undefined) return checked('managed identity', 'IDENTITY_ENDPOINT is set', settings)
  const mayBeCli = wanted !== 'prod' && settings.hasCli && !settings.isInCluster
  if (mayBeCli) return checked('Azure CLI', 'no other credential is configured and az is on the PATH', settings)
  return checked('managed identity', 'no other credential is configured', settings)
}

function checked(credential: CredentialKind, because: string, settings: IdentitySettings): CredentialChoice {
  if (credential === 'Azure CLI' && !settings.hasCli)
    return {
      kind: 'none',
      message: `credential "${credential}" (${because}): az is not on the PATH; install the Azure CLI and run: az login`,
    }
  const missing = neededFor[credential].filter(([setting]) => settings[setting] === undefined)
  if (missing.length === 0) return { kind: 'chosen', credential, because }
  const reported = missing.map(([, variable, who]) => `${variable} is not set: ${who}`)
  return { kind: 'none', message: `credential "${credential}" (${because}): ${reported.join('; ')}` }
}

/** Longest time of the Azure CLI, which starts slowly. */
const cliMs = 30_000
/**
 * Options of requests for tokens: no retries, and limits for what answers them. They are in the client and not a policy, since the credential of managed
 * identities drops policies.
 */
function limited() {
  const [http, answers] = [createDefaultHttpClient(), answerPolicy()]
  const httpClient: HttpClient = {
    sendRequest: (request) => answers.sendRequest(request, (sent) => http.sendRequest(sent)),
  }
  return { retryOptions: { maxRetries: 0 }, httpClient }
}

/** Returns the SDK's credential of a kind. Its own retries are off: the caller decides how long a token may take. */
export function createCredential(kind: CredentialKind, settings: IdentitySettings, cloud: Cloud): TokenCredential {
  const { tenantId = '', clientId = '', clientSecret = '', federatedTokenFile = '' } = settings
  const common = {
    authorityHost: cloud.authorityHost,
    // The authority is configured; validating it with the public cloud would fail in every other cloud.
    disableInstanceDiscovery: true,
    ...limited(),
  }
  switch (kind) {
    case 'environment':
      return new ClientSecretCredential(tenantId, clientId, clientSecret, common)
    case 'workload identity':
      return new WorkloadIdentityCredential({ ...common, tenantId, clientId, tokenFilePath: federatedTokenFile })
    case 'managed identity':
      return clientId === ''
        ? new ManagedIdentityCredential(limited())
        : new ManagedIdentityCredential({ clientId, ...limited() })
    case 'Azure CLI':
      return new AzureCliCredential({ processTimeoutInMs: cliMs, ...(tenantId === '' ? {} : { tenantId }) })
  }
}
