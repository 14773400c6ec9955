import { ReportedError } from '../../document/reported-error.ts'
import { filesOf, type InputFile, inputName, manifestSuffixes, needInput } from '../shared/input.ts'

/** The bytes of files, of all manifests below directories, and of standard input (`-`), in the order given. Errors: ReportedError. */
export async function readInputs(inputs: readonly string[]): Promise<readonly InputFile[]> {
  const files: InputFile[] = []
  for (const input of inputs) {
    const found = filesOf(input)
    if (found.length === 0)
      throw new ReportedError(
        `${inputName(input)}: the directory holds no manifests; files end in ${manifestSuffixes.join(', ')}`,
      )
    for (const file of found) files.push(await needInput(file))
  }
  return files
}

/**
 * Returns a region's prices as a file of them, read from the retail price API or from `JOINER_PRICES_ENDPOINT`. Errors: the API cannot be reached, or answers
 * something else.
 */
export async function fetchedPrices(region: string, env: NodeJS.ProcessEnv = process.env): Promise<InputFile> {
  const { fetchPriceItems } = await import('../../../activities/azure/catalogue/retail-prices.ts')
  const endpoint = env['JOINER_PRICES_ENDPOINT'] ?? 'https://prices.azure.com'
  console.error(`reading the prices of ${region} from ${endpoint} ...`)
  try {
    const items = await fetchPriceItems(endpoint, region)
    const bytes = new TextEncoder().encode(JSON.stringify({ Items: items }))
    return { file: `prices of ${region}`, bytes }
  } catch (error) {
    throw new ReportedError(`--fetch-prices ${region}: ${(error as Error).message}; use --prices FILE`)
  }
}
