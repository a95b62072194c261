export default {
  async onResponse(response: Response): Promise<Response> {
    return new Response((await response.text()).toUpperCase(), response);
  },
};
