/*
 * What cppcheck needs to know of the headers that it does not read: a macro
 * that is a loop.
 */
#define yyjson_arr_foreach(arr, idx, max, val)                                        \
	for (idx = 0, max = yyjson_arr_size(arr), val = unsafe_yyjson_get_first(arr); \
	     idx < max; idx++)
#define yyjson_obj_foreach(obj, idx, max, key, val)                                   \
	for (idx = 0, max = yyjson_obj_size(obj), key = unsafe_yyjson_get_first(obj), \
	    val = key;                                                                \
	     idx < max; idx++)
