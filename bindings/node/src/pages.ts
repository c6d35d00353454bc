/** Walking through pages. */

interface Page {
  nextPageToken: string;
}

/** All pages of a listing. */
export async function* pages<P extends Page, F extends object>(
  list: (params: F & { pageToken: string }) => Promise<P>,
  filters: F,
): AsyncGenerator<P, void, void> {
  let pageToken = '';
  do {
    const page = await list({ ...filters, pageToken });
    yield page;
    pageToken = page.nextPageToken;
  } while (pageToken !== '');
}
