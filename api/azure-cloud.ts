import { z } from 'zod'

export const cloudNames = ['AzurePublicCloud', 'AzureUSGovernmentCloud', 'AzureChinaCloud'] as const
export type CloudName = (typeof cloudNames)[number]

/** Names that `az cloud show` prints for the same clouds. */
const cliNames: Readonly<Record<string, CloudName>> = {
  azurecloud: 'AzurePublicCloud',
  azureusgovernment: 'AzureUSGovernmentCloud',
}

/** Returns the cloud of a name, whatever its case. */
export function knownCloud(name: string): CloudName | undefined {
  const lower = name.toLowerCase()
  return cloudNames.find((each) => each.toLowerCase() === lower) ?? cliNames[lower]
}

/** A cloud that a file describes instead of its name. */
export interface DescribedCloud {
  readonly name: string
  readonly resourceManagerEndpoint: string
  readonly activeDirectoryEndpoint: string
  readonly tokenAudience: string
}

const address = z.url('is not a URL')
const environmentFile = z.looseObject({
  name: z.string().default(''),
  resourceManagerEndpoint: address,
  activeDirectoryEndpoint: address,
  tokenAudience: z.string().min(1, 'is empty'),
})

/** Reads the file that AZURE_ENVIRONMENT_FILEPATH names. Errors: throws with file, field and remedy (reference/azure-provider.md 9.1 and 10.2). */
export function parseEnvironmentFile(path: string, text: string): DescribedCloud {
  const subject = `environment variable AZURE_ENVIRONMENT_FILEPATH "${path}"`
  let content: unknown
  try {
    content = JSON.parse(text)
  } catch (error) {
    throw new Error(`${subject}: the file is not JSON (${String(error)}); write an object with ${fields}`, {
      cause: error,
    })
  }
  const parsed = environmentFile.safeParse(content)
  if (parsed.success) return parsed.data
  const problems = parsed.error.issues.map(({ path: at, message }) => `${at.join('.') || 'the file'} ${message}`)
  throw new Error(`${subject}: ${problems.join('; ')}. Write an object with ${fields}`)
}

const fields = "resourceManagerEndpoint, activeDirectoryEndpoint, tokenAudience and, if it is one of Azure's own, name"
