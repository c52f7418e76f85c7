/*
 * raise.cc - the same from C++: the error in a unique_ptr, the text in a string.
 *
 *   c++ -std=c++17 raise.cc $(pkg-config --cflags --libs faultwire)
 */
#include <faultwire/faultwire.h>

#include <iostream>
#include <memory>
#include <string>

struct free_error {
	void operator()(fw_error *err) const
	{
		fw_error_free(err);
	}
};
using error = std::unique_ptr<fw_error, free_error>;

static error read_plan(const std::string &path)
{
	return error(fw_raise_file_not_found(path.c_str()));
}

static std::string encode(const error &err, fw_contract contract)
{
	std::string text(fw_error_encode(err.get(), contract, nullptr, nullptr, 0) + 1, '\0');

	fw_error_encode(err.get(), contract, nullptr, text.data(), text.size());
	text.pop_back(); /* the final NUL */
	return text;
}

int main()
{
	error err = read_plan("plans/42.md");

	err.reset(fw_error_wrap(err.release(), FW_HERE, "could not load the plan"));
	std::cout << encode(err, FW_TOOLERROR) << '\n' << encode(err, FW_CONTEXT_V0);
	return 0;
}
