import { readFile } from 'node:fs/promises'
import type { TokenCredential } from '@azure/identity'
import { loginRemedy } from './azure-failure-rules.ts'
import type { CredentialKind, IdentitySettings } from './credentials.ts'

/** Time limit of a token request (reference/azure-provider.md 9.5). */
export const tokenLimitMs = 5000

/** Owner of a token, from its claims. Empty where the token lacks them. */
interface TokenOwner {
  readonly objectId: string
  readonly clientId: string
  readonly tenantId: string
}

export type TokenResult =
  | { readonly kind: 'token'; readonly owner: TokenOwner; readonly ms: number }
  | { readonly kind: 'failed'; readonly message: string; readonly remedy: string }

export interface TokenRequest {
  readonly credential: TokenCredential
  readonly kind: CredentialKind
  readonly settings: IdentitySettings
  readonly scope: string
  /** Namespace of the ServiceAccount that a federated credential must name. */
  readonly namespace: string
}

/** Requests one token within the limit. The token itself is not passed on. */
export async function tryToken(request: TokenRequest, limitMs = tokenLimitMs): Promise<TokenResult> {
  const abort = new AbortController()
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      abort.abort()
      reject(new Error(`no token came within ${limitMs / 1000} s`))
    }, limitMs)
  })
  const begun = performance.now()
  try {
    const asked = request.credential.getToken(request.scope, { abortSignal: abort.signal })
    asked.catch(() => {})
    const token = await Promise.race([asked, late])
    if (token === null) throw new Error('the credential gave no token')
    return { kind: 'token', owner: ownerOf(token.token), ms: Math.round(performance.now() - begun) }
  } catch (error) {
    const message = tokenErrorText(error)
    return { kind: 'failed', message, remedy: await remedyFor(message, request) }
  } finally {
    clearTimeout(timer)
  }
}

const crash = 'the Azure CLI crashed: '

/** Returns the text of an error in one line. Where the Azure CLI crashed, that is the error that ends its traceback, not the places before it. */
export function tokenErrorText(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error)
  const [, ...tracebacks] = text.split('Traceback (most recent call last):')
  const raised = tracebacks
    .at(-1)
    ?.split('\n')
    .findLast((line) => /^[\w.]*(?:Error|Exception|Exit|Interrupt)\b/.test(line))
  return `${raised === undefined ? '' : crash}${raised ?? text}`.replaceAll(/\s+/g, ' ').trim().slice(0, 500)
}

function ownerOf(token: string): TokenOwner {
  const claims = claimsOf(token)
  const text = (name: string) => (typeof claims[name] === 'string' ? claims[name] : '')
  return { objectId: text('oid'), clientId: text('appid') || text('azp'), tenantId: text('tid') }
}

/** Returns the claims of a JSON web token, unchecked; none when it is something else. */
function claimsOf(token: string): Readonly<Record<string, unknown>> {
  try {
    return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8')) as Record<string, unknown>
  } catch {
    return {}
  }
}

/** Returns the remedy for a denied token, by Entra's error codes (https://learn.microsoft.com/entra/identity-platform/reference-error-codes). */
async function remedyFor(message: string, request: TokenRequest): Promise<string> {
  const { kind, settings } = request
  const unreached = loginRemedy(message)
  if (unreached !== undefined) return unreached
  const code = /AADSTS(\d+)/.exec(message)?.[1]
  if (code === '90002' || code === '900023')
    return `tenant "${settings.tenantId}" does not exist in this cloud: set AZURE_TENANT_ID to what this prints: az account show --query tenantId -o tsv; and check ARM_CLOUD`
  if (code === '7000215' || code === '7000222')
    return `the application's secret is wrong or expired: az ad app credential reset --id ${settings.clientId}`
  switch (kind) {
    case 'workload identity':
      return workloadRemedy(code, request)
    case 'managed identity':
      return settings.clientId === undefined
        ? 'give the machine an identity, or, when it has several, set AZURE_CLIENT_ID to the client id of one: az identity list --query "[].{name:name,clientId:clientId}" -o table. In AKS use workload identity instead (chart: workloadIdentity.clientId)'
        : `the machine must have the identity with client id ${settings.clientId}: az identity list --query "[?clientId=='${settings.clientId}'].id" -o tsv, then assign it to the machine; in AKS use workload identity instead (chart: workloadIdentity.clientId)`
    case 'Azure CLI':
      if (message.startsWith(crash))
        return 'az account get-access-token, which shows where; then update the Azure CLI or install it again'
      return `az login${settings.tenantId === undefined ? '' : ` --tenant ${settings.tenantId}`}`
    case 'environment':
      return `check AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET: az login --service-principal --tenant ${settings.tenantId} --username ${settings.clientId}`
  }
}

async function workloadRemedy(code: string | undefined, { settings, namespace }: TokenRequest): Promise<string> {
  const { clientId, federatedTokenFile } = settings
  const file = federatedTokenFile ?? ''
  let claims: Readonly<Record<string, unknown>>
  try {
    claims = claimsOf(await readFile(file, 'utf8'))
  } catch (error) {
    return `AZURE_FEDERATED_TOKEN_FILE "${file}" cannot be read (${String(error)}); the pod needs the label azure.workload.identity/use: "true", and the cluster: az aks update --enable-workload-identity --enable-oidc-issuer`
  }
  if (code === '700016')
    return `no identity has the client id "${clientId}" in tenant "${settings.tenantId}": take it from: az identity list --query "[].{name:name,clientId:clientId}" -o table; and set workloadIdentity.clientId of the chart`
  if (code === '700024')
    return `the federated token in ${file} is expired or not valid yet: compare this machine's clock, and restart the pod so that the kubelet projects a new one`
  const subject = typeof claims['sub'] === 'string' ? claims['sub'] : `system:serviceaccount:${namespace}:joiner-azure`
  const issuer = typeof claims['iss'] === 'string' ? claims['iss'] : 'THE-CLUSTERS-OIDC-ISSUER'
  return (
    `the identity must trust the ServiceAccount: az identity federated-credential create --name joiner --resource-group GROUP-OF-THE-IDENTITY ` +
    `--identity-name NAME-OF-THE-IDENTITY --issuer ${issuer} --subject ${subject} --audiences api://AzureADTokenExchange ` +
    `(the identity is the one with client id ${clientId}; the issuer must equal: az aks show --query oidcIssuerProfile.issuerUrl)`
  )
}
